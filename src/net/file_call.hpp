// file_call: awaits one file_request.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/io_wait.hpp"
#include "runtime/backend.hpp"

#include <cstdint>

namespace coracle::net {

// Fill in the request and the bytes, then await perform() once. The backend performs the request if it takes
// files, and the blocking pool does otherwise. Lives in the awaiting frame.
class file_call : public io_wait {
 public:
  file_call(loop& owner_loop, runtime_internal::handle handle,
            runtime_internal::file_request::action wanted) noexcept;
  // Returns the result of the request, or -ECANCELED with the reason in ended_early() when it did not begin
  // or the kernel could still cancel it.
  [[nodiscard]] task<std::int64_t> perform();
  [[nodiscard]] const status& ended_early() const noexcept { return early_outcome_; }

  runtime_internal::file_request request;

 private:
  loop& loop_;
  status early_outcome_;
};

}  // namespace coracle::net
