// file: a file in the file system, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/file_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::net {

class open_file;  // private: a descriptor and the operations in flight on it

/// A file in the file system, read and written by coroutines. Lives on the loop on which it was opened; only
/// coroutines of that loop may use it. Any number of read_at() and write_at() calls may be in flight at a
/// time, and one read() or write(). The file and the bytes must stay in place until these calls end.
///
/// With io_uring the kernel performs the operations; with other backends a thread of the blocking pool does
/// (see offload()). A stop or a passed deadline of the awaiter's environment ends an operation that has not
/// begun, with CANCELLED or DEADLINE_EXCEEDED; an operation that has begun is awaited. In a simulation, files
/// are the real ones of the machine, accessed in virtual time: their contents do not depend on the seed.
///
/// Error messages name the file. The codes are NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
/// RESOURCE_EXHAUSTED when the disk is full or the process has no descriptors left, DATA_LOSS when the disk
/// fails, and FAILED_PRECONDITION when the file was not opened for the operation.
class file {
 public:
  /// Makes a closed file.
  file() noexcept;
  file(file&&) noexcept;
  file& operator=(file&&) noexcept;
  /// Closes the file if close() was not called. No operation may be in flight.
  ~file();

  /// Opens the file at `path`. Fails with INVALID_ARGUMENT for a directory, and for a file without positions,
  /// such as a pipe or a terminal (see net::input).
  static task<result<file>> open(std::string path, file_options options = {});

  /// Reads from `offset` until `into` is full or the file ends, and returns the number of bytes: 0 beyond the
  /// end. Fails with INVALID_ARGUMENT when `into` is empty.
  [[nodiscard]] task<result<std::size_t>> read_at(std::uint64_t offset, mutable_bytes into);
  /// Writes all of `bytes` at `offset`, or at the end if the file was opened with append(). After a failure
  /// it is unknown how much was written.
  [[nodiscard]] task<status> write_at(std::uint64_t offset, bytes_view bytes);

  /// Like read_at(), from position(), which advances past the bytes that were read.
  [[nodiscard]] task<result<std::size_t>> read(mutable_bytes into);
  /// Like write_at(), at position(), which advances past the bytes that were written.
  [[nodiscard]] task<status> write(bytes_view bytes);
  /// Returns the position of this object in bytes, initially 0.
  [[nodiscard]] std::uint64_t position() const noexcept;
  /// Sets the position of this object in bytes; it may be beyond the end of the file.
  void seek(std::uint64_t position) noexcept;

  /// Waits until the data that was written is on the disk (fsync).
  [[nodiscard]] task<status> sync();
  /// Like sync(), but omits the times and other metadata that reading does not need (fdatasync).
  [[nodiscard]] task<status> sync_data();
  /// Returns the size of the file in bytes.
  [[nodiscard]] task<result<std::uint64_t>> size();

  /// Closes the file. No operation may be in flight. Does not wait for the disk: call sync() first to wait
  /// and to learn of write errors.
  void close() noexcept;
  /// Returns whether the file is open.
  [[nodiscard]] bool is_open() const noexcept { return file_ != nullptr; }

 private:
  explicit file(std::unique_ptr<open_file> opened) noexcept;
  std::unique_ptr<open_file> file_;
};

/// Reads all of the file, with the rules and errors of net::file. Fails with RESOURCE_EXHAUSTED when it holds
/// more than `bytes_max` bytes, because other programs may control its size.
task<result<std::string>> read_file(std::string path, std::size_t bytes_max = std::size_t{64} << 20);

/// Writes all of `bytes` to the file, which it creates if it does not exist and truncates if it does. The
/// bytes must stay in place until the await ends. The write is neither atomic nor durable when the call
/// returns: to have both, write to another file, sync() it and rename it.
task<status> write_file(std::string path, bytes_view bytes);

}  // namespace coracle::net
