// Replaces snappy_coder.cpp in builds without the snappy library.
#include "compress/coder.hpp"

namespace coracle::compress {

maker snappy_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
