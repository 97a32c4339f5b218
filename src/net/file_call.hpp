// file_call: a coroutine waits for one file_request.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/io_wait.hpp"
#include "runtime/backend.hpp"
#include "runtime/file_request.hpp"

#include <cstdint>

namespace coracle::net {

// Fill in request and bytes, then await perform() once: by the backend where it takes files, on the blocking
// pool elsewhere. Lives in the awaiting frame.
class file_call : public io_wait {
 public:
  file_call(loop& home, runtime_internal::handle handle,
            runtime_internal::file_request::action wanted) noexcept;
  // The request's result; -ECANCELED with the reason in ended_early() when it did not begin, or the kernel
  // could still end it.
  [[nodiscard]] task<std::int64_t> perform();
  [[nodiscard]] const status& ended_early() const noexcept { return early_; }

  runtime_internal::file_request request;

 private:
  loop& home_;
  status early_;
};

}  // namespace coracle::net
