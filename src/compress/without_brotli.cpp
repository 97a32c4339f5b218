// Replaces brotli_coder.cpp in builds without the brotli library.
#include "compress/coder.hpp"

namespace coracle::compress {

maker brotli_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
