// Replaces lz4_coder.cpp in builds without the lz4 library.
#include "compress/coder.hpp"

namespace coracle::compress {

maker lz4_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
