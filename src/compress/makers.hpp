// makers: the functions that make coders, for the table of encodings.
#pragma once

#include "compress/coder.hpp"

#include <memory>

namespace coracle::compress {

std::unique_ptr<coder> make_deflate();
std::unique_ptr<coder> make_gzip();
std::unique_ptr<coder> make_zstd();

// A function that makes a coder. Null from without_<name>.cpp, which the build uses instead of
// <name>_coder.cpp if the library is not installed.
using maker = std::unique_ptr<coder> (*)();
maker brotli_maker() noexcept;
maker snappy_maker() noexcept;
maker lz4_maker() noexcept;

}  // namespace coracle::compress
