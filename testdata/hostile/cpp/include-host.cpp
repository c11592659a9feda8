// Includes a file of the host into its own error messages.
// want: status error
// want: stdout-lacks root:

#include "/etc/shadow"
#include "/proc/1/environ"
int main() {}
