// In place of snappy_coder.cpp where there is no such library.
#include "compress/makers.hpp"

namespace coracle::compress {

maker snappy_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
