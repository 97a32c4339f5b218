#include "runtime/uring/file_entry.hpp"

#include "runtime/file_request.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstddef>

namespace coracle::runtime_internal {

namespace {

// An entry's length has 32 bits, and a result 31: the rest is a short read or write.
unsigned length_of(std::size_t size) noexcept {
  constexpr std::size_t most = std::size_t{1} << 30;
  return static_cast<unsigned>(std::min(size, most));
}

}  // namespace

void prepare_file(io_uring_sqe& e, const operation& op) noexcept {
  using action = file_request::action;
  const file_request& f = *op.file;
  switch (f.what) {
    case action::open: io_uring_prep_openat(&e, AT_FDCWD, f.path, f.flags, f.permissions); break;
    case action::read:
      io_uring_prep_read(&e, op.on, op.into.data(), length_of(op.into.size()), f.offset);
      break;
    case action::write:
      io_uring_prep_write(&e, op.on, op.pieces->data, length_of(op.pieces->size), f.offset);
      break;
    case action::sync: io_uring_prep_fsync(&e, op.on, 0); break;
    case action::sync_data: io_uring_prep_fsync(&e, op.on, IORING_FSYNC_DATASYNC); break;
    case action::size:
      io_uring_prep_statx(&e, op.on, "", AT_EMPTY_PATH, STATX_SIZE,
                          reinterpret_cast<struct statx*>(op.into.data()));
      break;
  }
}

}  // namespace coracle::runtime_internal
