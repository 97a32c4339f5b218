// What the interop client and server on grpc++'s API share: the keys, their command lines, files.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace interop {

constexpr const char* initial_key = "x-grpc-test-echo-initial";
constexpr const char* trailing_key = "x-grpc-test-echo-trailing-bin";

// --name=value; ends the program if a word is of another form.
inline std::map<std::string, std::string> options_of(int argc, char** argv) {
  std::map<std::string, std::string> found;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (word.rfind("--", 0) != 0 || equals == std::string::npos) {
      std::fprintf(stderr, "%s: an option is --name=value, and not %s\n", argv[0], argv[i]);
      std::exit(2);
    }
    found[word.substr(2, equals - 2)] = word.substr(equals + 1);
  }
  return found;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace interop
