// coders: one of each encoding, made when first used.
#pragma once

#include "compress/coder.hpp"

#include <array>
#include <memory>

namespace coracle::compress {

// For one thread at a time; each loop has one. An encoding that was used once keeps its contexts: deflate and gzip
// about 300 KiB each, zstd about 1 MiB at its usual level and more at higher ones, lz4 about 200 KiB.
class coders {
 public:
  // Null for identity, and for what the library was built without.
  coder* of(encoding e) {
    auto& c = made_[static_cast<std::size_t>(e)];
    if (!c) c = make_coder(e);
    return c.get();
  }

 private:
  std::array<std::unique_ptr<coder>, encoding_count> made_;
};

}  // namespace coracle::compress
