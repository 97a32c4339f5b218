// file_options: how file::open() opens a file.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <type_traits>

namespace coracle::net {

/// How file::open() opens a file: `file::open(path, {.write = true, .create = true})`. The default opens an
/// existing file for reading.
struct file_options {
  bool read = true;    ///< opens for reading
  bool write = false;  ///< opens for writing
  /// Creates the file, with `permissions`, if it does not exist.
  bool create = false;
  /// Creates the file, and fails with ALREADY_EXISTS if it exists.
  bool create_new = false;
  /// Truncates the file to 0 bytes.
  bool truncate = false;
  /// Makes every write append to the file, whatever its offset, even when other processes write to the file
  /// too. Implies `write`.
  bool append = false;
  /// The permissions of a file that is created, from which the process's umask is removed.
  unsigned permissions = 0666;

  /// Returns the options for writing a file from scratch: creates it if it does not exist, and truncates it
  /// if it does.
  static constexpr file_options overwrite() noexcept {
    return {.read = false, .write = true, .create = true, .truncate = true};
  }
};
static_assert(std::is_trivially_destructible_v<file_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::net
