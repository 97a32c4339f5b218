// open_descriptor: what input and output hold.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle::net {

// Owns the handle, unless it is borrowed; lets the loop's backend forget it in either case, for it may live on
// elsewhere.
class open_descriptor {
 public:
  enum class ownership : bool { borrowed, owned };
  // On the current loop.
  static result<std::unique_ptr<open_descriptor>> open(int descriptor, ownership whose);
  open_descriptor(loop& home, runtime_internal::handle h, ownership whose) noexcept;
  open_descriptor(const open_descriptor&) = delete;
  open_descriptor& operator=(const open_descriptor&) = delete;
  ~open_descriptor();

  loop& on;
  const runtime_internal::handle descriptor;
  const ownership owned;
  const bool on_disk;  // its reads and writes are those of a file, at its own position
  bool waiting = false;
};

}  // namespace coracle::net
