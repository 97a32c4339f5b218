// open_file: the descriptor behind a file.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace coracle::net {

// Owns the handle, which must not be closed under an operation: its number might be another file's by then.
class open_file {
 public:
  open_file(loop& home, runtime_internal::handle handle, std::string name) noexcept
      : on(home), descriptor(handle), path(std::move(name)) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    CORACLE_ASSERT(under_way == 0,
                   "a file was closed or destroyed while a task uses it: stop and join the task first");
    on.io().close_file(descriptor);
  }

  // Counts an operation for as long as it lives.
  class use {
   public:
    explicit use(open_file& of) noexcept : of_(of) { ++of_.under_way; }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { --of_.under_way; }

   private:
    open_file& of_;
  };

  loop& on;
  const runtime_internal::handle descriptor;
  const std::string path;
  std::size_t under_way = 0;
  std::uint64_t position = 0;
  bool moving = false;  // a read() or write() is under way
};

}  // namespace coracle::net
