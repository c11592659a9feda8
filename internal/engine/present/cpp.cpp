// Reads Debian packages, one a line, and prints those that are not there: the line, a tab, and why.
// Every package of Debian has a directory with its copyright.
#include <filesystem>
#include <iostream>
#include <string>

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        if (!std::filesystem::exists("/usr/share/doc/" + line)) std::cout << line << "\tit is not installed\n";
    }
}
