#include <iostream>
#include <map>
#include <sstream>
#include <string>

int main() {
    std::istringstream text("the cat saw the other cat and the dog");
    std::map<std::string, int> count;
    for (std::string word; text >> word;) ++count[word];
    for (const auto& [word, n] : count)
        if (n > 1) std::cout << word << ": " << n << '\n';
}
