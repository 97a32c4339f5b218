// Replaces snappy_coder.cpp in builds without the snappy library.
#include "compress/makers.hpp"

namespace coracle::compress {

maker snappy_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
