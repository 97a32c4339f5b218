// open_descriptor: the descriptor of an input or output.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle::net {

// Owns the handle unless it is borrowed. In either case the destructor makes the backend forget the handle,
// because a borrowed one remains open.
class open_descriptor {
 public:
  enum class ownership : bool { borrowed, owned };
  // Opens on the current loop.
  static result<std::unique_ptr<open_descriptor>> open(int descriptor, ownership whose);
  open_descriptor(loop& owner_loop, runtime_internal::handle h, ownership whose) noexcept;
  open_descriptor(const open_descriptor&) = delete;
  open_descriptor& operator=(const open_descriptor&) = delete;
  ~open_descriptor();

  loop& on;
  const runtime_internal::handle descriptor;
  const ownership owned;
  const bool on_disk;  // reads and writes are those of a file, at its own position
  bool waiting = false;
};

}  // namespace coracle::net
