#include <cstdio>

int main() {
#if defined(__clang__)
    std::printf("{\"version\": \"Clang %d.%d.%d\"", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    std::printf("{\"version\": \"GCC %d.%d.%d\"", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    std::printf(", \"libraries\": [\"STL\"");
#if __has_include(<boost/version.hpp>)
    std::printf(", \"Boost\"");
#endif
#if __has_include(<eigen3/Eigen/Core>)
    std::printf(", \"Eigen\"");
#endif
#if __has_include(<fmt/core.h>)
    std::printf(", \"fmt\"");
#endif
#if __has_include(<nlohmann/json.hpp>)
    std::printf(", \"nlohmann-json\"");
#endif
    std::printf("]}\n");
}
