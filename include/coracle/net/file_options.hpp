// file_options: how file::open() opens a file.
#pragma once

#include <type_traits>

namespace coracle::net {

/// Options of file::open(). The default opens an existing file for reading.
///
/// Not an aggregate, because it is passed into awaited calls.
class file_options {
 public:
  file_options() noexcept {}
  /// Returns the options for writing a file from scratch: creates it if it does not exist, and truncates it
  /// if it does.
  static file_options overwrite() noexcept { return file_options().read(false).write().create().truncate(); }

  file_options& read(bool on = true) noexcept { return read_ = on, *this; }
  file_options& write(bool on = true) noexcept { return write_ = on, *this; }
  /// Creates the file with permissions() if it does not exist.
  file_options& create(bool on = true) noexcept { return create_ = on, *this; }
  /// Creates the file, and fails with ALREADY_EXISTS if it exists.
  file_options& create_new(bool on = true) noexcept { return create_new_ = on, *this; }
  /// Truncates the file to 0 bytes.
  file_options& truncate(bool on = true) noexcept { return truncate_ = on, *this; }
  /// Makes every write append to the file, whatever its offset, even when other processes write to the file
  /// too.
  file_options& append(bool on = true) noexcept { return append_ = on, *this; }
  /// Sets the permissions of a file that open() creates, from which the process's umask is removed. Default
  /// 0666.
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
