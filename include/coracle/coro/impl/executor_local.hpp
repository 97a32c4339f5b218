// executor_local: an object that a higher layer keeps on each executor, such as the contexts of its
// compressors.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <memory>

namespace coracle::coro {

// Owned by its executor and destroyed with it. There is one of each type, made on first use; see
// executor::attached(). For the executor's thread only.
class executor_local {
 public:
  executor_local() noexcept = default;
  executor_local(const executor_local&) = delete;
  executor_local& operator=(const executor_local&) = delete;
  virtual ~executor_local() = default;

 private:
  friend class executor;
  const void* type_ = nullptr;
  std::unique_ptr<executor_local> next_;
};

}  // namespace coracle::coro
