#include "tools/new/template_files.hpp"

namespace coracle::tools {

namespace {

template <std::size_t N>
std::string_view text_of(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

// An array file_N for each file, and of them all: const template_file embedded[]. Made by template.cmake.
#include "new/template_files.inc"

}  // namespace

std::span<const template_file> template_files() { return embedded; }

}  // namespace coracle::tools
