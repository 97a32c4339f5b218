#include "net/file_call.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/runtime/offload.hpp"

#include <cerrno>

namespace coracle::net {

namespace {

// Runs on a thread of the blocking pool.
std::int64_t perform_here(runtime_internal::backend* on, runtime_internal::operation* op) noexcept {
  return on->perform_file(*op);
}

}  // namespace

file_call::file_call(loop& owner_loop, runtime_internal::handle handle,
                     runtime_internal::file_request::action wanted) noexcept
    : io_wait(owner_loop, runtime_internal::operation::kind::file, handle), loop_(owner_loop) {
  request.type = wanted;
  file = &request;
}

task<std::int64_t> file_call::perform() {
  io_wait& by_backend = *this;
  if (loop_.io().takes_files()) {
    const std::int64_t result = co_await by_backend;
    early_outcome_ = by_backend.ended_early();
    co_return result;
  }
  CORACLE_REQUIRE(loop_.is_current(), "a file was used on a loop other than its owner loop");
  const coro::environment& here = co_await coro::this_environment();
  if (here.deadline == never || loop_.now() < here.deadline) {
    try {
      co_return co_await offload(&perform_here, &loop_.io(), static_cast<runtime_internal::operation*>(this));
    } catch (const coro::cancelled&) {
    }
  }
  early_outcome_ = stop_status(loop_, here.deadline);
  co_return -ECANCELED;
}

}  // namespace coracle::net
