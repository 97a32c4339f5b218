// In place of lz4_coder.cpp where there is no such library.
#include "compress/makers.hpp"

namespace coracle::compress {

maker lz4_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
