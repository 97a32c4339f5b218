// file_request: the parameters of an operation of kind `file`.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::runtime_internal {

// Lives in its owner as long as the operation that points to it. The result is that of the system call of
// this name: the new handle, a number of bytes, 0, or -errno. A short read or write is not continued here.
struct file_request {
  enum class action : std::uint8_t {
    open,  // path, flags, permissions
    read,  // on, into, offset
    write,  // on, pieces (one), offset
    sync,  // on
    sync_data,  // on: omits times and other metadata that reading does not need
    size,  // on; into: file_size_room bytes, which the backend uses
  };
  action what{};
  std::uint64_t offset = 0;
  const char* path = nullptr;
  int flags = 0;  // as in open(2)
  unsigned permissions = 0;
};

// The descriptor's own position, which other processes may share.
inline constexpr std::uint64_t current_position = ~std::uint64_t{0};
inline constexpr std::size_t file_size_room = 256;

}  // namespace coracle::runtime_internal
