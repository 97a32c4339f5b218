// file: a file of the file system, for coroutines.
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

class open_file;  // private: a descriptor and what is in flight on it

// Lives on the loop it was opened on; all of it is for that loop's coroutines. Any number of read_at() and
// write_at() may be under way beside each other, and one read() or write(); the file and the bytes must stay
// in place until they have ended.
//
// The kernel does the work by itself on io_uring, a thread of the blocking pool elsewhere (offload()). A stop
// or a passed deadline of the awaiter's environment ends what has not begun, as CANCELLED or
// DEADLINE_EXCEEDED; what has begun is waited for. In a simulation files are the real ones of the machine,
// reached in virtual time: what they hold is not drawn from the seed.
//
// Errors name the file: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED when the disk is full
// or descriptors have run out, DATA_LOSS when the disk fails, FAILED_PRECONDITION when it was not opened for that.
class file {
 public:
  file() noexcept;
  file(file&&) noexcept;
  file& operator=(file&&) noexcept;
  // Closes, if close() was not called. Nothing may be under way.
  ~file();

  // INVALID_ARGUMENT for what has no positions (pipes, terminals: see input), and for folders.
  static task<result<file>> open(std::string path, file_options how = {});

  // Fills `into` from `offset` on, with less only at the end of the file: 0 behind it. INVALID_ARGUMENT when
  // `into` is empty.
  [[nodiscard]] task<result<std::size_t>> read_at(std::uint64_t offset, mutable_bytes into);
  // All of the bytes, from `offset` on; a file opened with append() takes them at its end. After a failure
  // nobody knows how much was written.
  [[nodiscard]] task<status> write_at(std::uint64_t offset, bytes_view bytes);

  // The same from position() on, and moves it behind what was read or written.
  [[nodiscard]] task<result<std::size_t>> read(mutable_bytes into);
  [[nodiscard]] task<status> write(bytes_view bytes);
  // Of this object; 0 at first.
  [[nodiscard]] std::uint64_t position() const noexcept;
  void seek(std::uint64_t position) noexcept;

  // Returns when what was written is on the disk (fsync). sync_data() leaves out times and other things that
  // reading does not need (fdatasync).
  [[nodiscard]] task<status> sync();
  [[nodiscard]] task<status> sync_data();
  // In bytes.
  [[nodiscard]] task<result<std::uint64_t>> size();

  // Nothing may be under way. Does not wait for the disk: sync() does, and tells of failures.
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return file_ != nullptr; }

 private:
  explicit file(std::unique_ptr<open_file> opened) noexcept;
  std::unique_ptr<open_file> file_;
};

}  // namespace coracle::net
