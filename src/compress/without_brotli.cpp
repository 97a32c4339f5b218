// In place of brotli_coder.cpp where there is no such library.
#include "compress/makers.hpp"

namespace coracle::compress {

maker brotli_maker() noexcept { return nullptr; }

}  // namespace coracle::compress
