// file_options: what file::open() is asked for.
#pragma once

#include <type_traits>

namespace coracle::net {

// As it is made, it reads a file that exists. Not an aggregate: it is passed into awaited calls.
class file_options {
 public:
  file_options() noexcept {}
  // A file to be written from scratch: made if it is not there, emptied if it is.
  static file_options overwrite() noexcept { return file_options().read(false).write().create().truncate(); }

  file_options& read(bool on = true) noexcept { return read_ = on, *this; }
  file_options& write(bool on = true) noexcept { return write_ = on, *this; }
  // Makes the file if it is not there, with permissions().
  file_options& create(bool on = true) noexcept { return create_ = on, *this; }
  // Makes the file, and fails with ALREADY_EXISTS if it is there.
  file_options& create_new(bool on = true) noexcept { return create_new_ = on, *this; }
  // Empties it.
  file_options& truncate(bool on = true) noexcept { return truncate_ = on, *this; }
  // Every write goes to the end, whatever its offset, also beside other processes.
  file_options& append(bool on = true) noexcept { return append_ = on, *this; }
  // Of a file that is made, less the process's umask. Default 0666.
  file_options& permissions(unsigned mode) noexcept { return permissions_ = mode, *this; }

  [[nodiscard]] bool reads() const noexcept { return read_; }
  [[nodiscard]] bool writes() const noexcept { return write_ || append_; }
  [[nodiscard]] bool creates() const noexcept { return create_ || create_new_; }
  [[nodiscard]] bool creates_new() const noexcept { return create_new_; }
  [[nodiscard]] bool truncates() const noexcept { return truncate_; }
  [[nodiscard]] bool appends() const noexcept { return append_; }
  [[nodiscard]] unsigned permissions() const noexcept { return permissions_; }

 private:
  bool read_ = true;
  bool write_ = false;
  bool create_ = false;
  bool create_new_ = false;
  bool truncate_ = false;
  bool append_ = false;
  unsigned permissions_ = 0666;
};
static_assert(!std::is_aggregate_v<file_options>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::net
