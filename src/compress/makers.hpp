// Where each encoding's file meets the table of them.
#pragma once

#include "compress/coder.hpp"

#include <memory>

namespace coracle::compress {

std::unique_ptr<coder> make_deflate();
std::unique_ptr<coder> make_gzip();
std::unique_ptr<coder> make_zstd();

// Null from without_<name>.cpp, which the build takes in place of <name>_coder.cpp where there is no such library.
using maker = std::unique_ptr<coder> (*)();
maker brotli_maker() noexcept;
maker snappy_maker() noexcept;
maker lz4_maker() noexcept;

}  // namespace coracle::compress
