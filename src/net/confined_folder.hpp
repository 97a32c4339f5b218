// confined_folder: the files below one folder, and none outside of it.
#pragma once

#include "coracle/base/result.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::net {

// A descriptor of the system, closed by the destructor.
class owned_descriptor {
 public:
  explicit owned_descriptor(int number) noexcept : number_(number) {}
  owned_descriptor(const owned_descriptor&) = delete;
  owned_descriptor& operator=(const owned_descriptor&) = delete;
  ~owned_descriptor();
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  const int number_;
};

// A regular file, or a folder, as it was when it was opened.
struct confined_file {
  std::shared_ptr<const owned_descriptor> handle;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  bool is_folder = false;

  // Reads up to `bytes` bytes from `offset`; fewer at the end of the file. Blocks. Throws status_error if the
  // disk fails.
  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t bytes) const;
};

// The functions block: call them through offload(). Any thread may call them.
class confined_folder {
 public:
  // How a path is kept below the folder: by the kernel, or by following no symbolic link at all.
  enum class confinement : std::uint8_t { by_kernel, by_steps };

  static result<std::shared_ptr<const confined_folder>> open(const std::string& path,
                                                             confinement c = confinement::by_kernel);

  // `path`: names separated by '/', not empty, neither "." nor ".."; an empty path is the folder itself.
  // Fails with NOT_FOUND for everything that is not to be served, whatever the reason, and with
  // RESOURCE_EXHAUSTED if the process has no descriptors left.
  [[nodiscard]] result<confined_file> find(const std::string& path) const;

 private:
  confined_folder(int number, confinement c) noexcept : handle_(number), confinement_(c) {}
  [[nodiscard]] int open_below(const std::string& path) const noexcept;  // -errno if it fails

  const owned_descriptor handle_;
  mutable std::atomic<confinement> confinement_;
};

}  // namespace coracle::net
