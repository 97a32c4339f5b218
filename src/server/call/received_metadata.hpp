// received_metadata: a counted handle to the metadata of a request.
#pragma once

#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <utility>

namespace coracle::server_internal {

// A handle to metadata that does not change once it is shared. Belongs to one loop, so that handles are
// counted without atomics.
class received_metadata {
 public:
  received_metadata() noexcept = default;
  [[nodiscard]] static received_metadata make() {
    received_metadata m;
    m.block_ = new block;
    return m;
  }
  received_metadata(const received_metadata& other) noexcept : block_(other.block_) {
    if (block_) ++block_->handles;
  }
  received_metadata(received_metadata&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  received_metadata& operator=(received_metadata other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~received_metadata() {
    if (block_ && --block_->handles == 0) delete block_;
  }

  // Requires a handle that make() returned, or a copy of one.
  [[nodiscard]] const metadata& get() const noexcept { return block_->fields; }
  [[nodiscard]] bool is_shared() const noexcept { return block_ && block_->handles > 1; }
  // To fill the metadata; not while it is shared.
  [[nodiscard]] metadata& own() noexcept { return block_->fields; }

 private:
  struct block {
    metadata fields;
    std::uint32_t handles = 1;
  };
  block* block_ = nullptr;
};

}  // namespace coracle::server_internal
