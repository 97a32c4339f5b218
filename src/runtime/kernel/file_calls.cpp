#include "runtime/kernel/file_calls.hpp"

#include "runtime/backend.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace coracle::runtime_internal::kernel {

namespace {

using action = file_request::action;

std::int64_t read_some(const operation& op) noexcept {
  const std::uint64_t at = op.file->offset;
  if (at == current_position) return ::read(op.on, op.into.data(), op.into.size());
  return ::pread(op.on, op.into.data(), op.into.size(), static_cast<off_t>(at));
}

std::int64_t write_some(const operation& op) noexcept {
  const std::uint64_t at = op.file->offset;
  const operation::piece& p = *op.pieces;
  if (at == current_position) return ::write(op.on, p.data, p.size);
  return ::pwrite(op.on, p.data, p.size, static_cast<off_t>(at));
}

std::int64_t size_of(const operation& op) noexcept {
  struct stat found{};
  return ::fstat(op.on, &found) < 0 ? -1 : static_cast<std::int64_t>(found.st_size);
}

std::int64_t call(const operation& op) noexcept {
  const file_request& f = *op.file;
  switch (f.type) {
    case action::open: return ::open(f.path, f.flags, f.permissions);
    case action::read: return read_some(op);
    case action::write: return write_some(op);
    case action::sync: return ::fsync(op.on);
    case action::sync_data: return ::fdatasync(op.on);
    case action::size: return size_of(op);
  }
  errno = EINVAL;
  return -1;
}

}  // namespace

std::int64_t perform_file(operation& op) noexcept {
  for (;;) {
    const std::int64_t result = call(op);
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t file_result(operation& op, std::int64_t result) noexcept {
  if (result < 0 || op.file->type != action::size) return result;
  struct statx found;
  static_assert(sizeof found <= file_size_room);
  std::memcpy(&found, op.into.data(), sizeof found);
  return static_cast<std::int64_t>(found.stx_size);
}

bool has_positions(handle h) noexcept { return ::lseek(h, 0, SEEK_CUR) >= 0; }

void close_file(handle h) noexcept { ::close(h); }

}  // namespace coracle::runtime_internal::kernel
