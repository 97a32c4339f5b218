// What the headers require of a compiler. Each header that includes no other one of the library includes this
// one first, so that a compiler which cannot compile them says so in its first line.
#pragma once

#if defined(__clang__)
#if __clang_major__ < 16
#error \
    "Coracle requires clang 16 or newer, or g++ 12 or newer: this clang is older (Debian: apt-get install clang-19)"
#endif
#elif defined(__GNUC__)
#if __GNUC__ < 12
#error \
    "Coracle requires g++ 12 or newer, or clang 16 or newer: this g++ is older (Debian: apt-get install g++-12)"
#endif
#else
#error "Coracle requires g++ 12 or newer, or clang 16 or newer: this compiler is neither"
#endif

#if __cplusplus < 202002L
#error \
    "Coracle requires C++20 or newer: compile with -std=c++20 (CMake: target_compile_features(TARGET PRIVATE cxx_std_20))"
#endif

#if !defined(__cpp_exceptions)
#error "Coracle requires exceptions: compile without -fno-exceptions"
#endif
