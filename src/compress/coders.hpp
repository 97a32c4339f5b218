// coders: the coders of one loop, made on first use and reused.
#pragma once

#include "compress/coder.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::compress {

// For one thread at a time. A coder that was used keeps its contexts: about 300 KiB each for deflate and
// gzip, about 1 MiB for zstd at its usual level and more at higher ones, about 200 KiB for lz4, none for
// brotli.
class coders {
 public:
  // Returns a coder for immediate use, valid until the next use of this object. Null for identity, and for
  // encodings that the library was built without.
  coder* of(encoding e) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.empty()) {
      std::unique_ptr<coder> made = make_coder(e);
      if (!made) return nullptr;
      spare.push_back(std::move(made));
    }
    return spare.back().get();
  }

  // Takes a coder for a message that is decompressed in several steps. Not for identity.
  [[nodiscard]] std::unique_ptr<coder> take(encoding e) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.empty()) return make_coder(e);
    std::unique_ptr<coder> taken = std::move(spare.back());
    spare.pop_back();
    return taken;
  }
  void give_back(encoding e, std::unique_ptr<coder> c) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.size() < spare_max) spare.push_back(std::move(c));
  }

 private:
  static constexpr std::size_t spare_max = 2;
  std::array<std::vector<std::unique_ptr<coder>>, encoding_count> spare_;
};

}  // namespace coracle::compress
