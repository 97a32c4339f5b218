#include "net/io_wait.hpp"

#include <cerrno>
#include "coracle/base/usage_error.hpp"

namespace coracle::net {

namespace {

status expired() { return status::deadline_exceeded("the deadline passed"); }

}  // namespace

status stop_status(const loop& on, time_point deadline) {
  if (deadline != never && on.now() >= deadline) return expired();
  return status::cancelled("the task was asked to stop");
}

io_wait::io_wait(loop& owner_loop, runtime_internal::operation::kind operation_kind,
                 runtime_internal::handle handle) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        auto& self = static_cast<io_wait&>(c);
        self.interrupt(stop_status(self.loop_, self.deadline_));
      }),
      loop_(owner_loop) {
  type = operation_kind;
  on = handle;
  complete = [](runtime_internal::operation& o, std::int64_t result) noexcept {
    static_cast<io_wait&>(o).ended(result);
  };
  fire = [](coro::timer& t) noexcept { static_cast<io_wait&>(t).interrupt(expired()); };
}

bool io_wait::start(std::coroutine_handle<> h, const coro::environment& e) {
  CORACLE_REQUIRE(loop_.is_current(), "a stream or listener was used on a loop other than its owner loop");
  if (!early_outcome_.ok()) early_outcome_ = status();
  deadline_ = e.deadline;
  const bool late = deadline_ != never && deadline_ <= loop_.now();
  if (late || e.stop.stop_requested()) {
    early_outcome_ = stop_status(loop_, deadline_);
    result_ = -ECANCELED;
    return false;
  }
  if (const auto done = loop_.io().perform_or_submit(*this)) {
    result_ = *done;
    return false;
  }
  waiter_ = h;
  e.stop.subscribe(*this);
  if (deadline_ != never) loop_.arm(*this, deadline_);
  return true;
}

void io_wait::interrupt(status reason) noexcept {
  if (!waiter_ || !early_outcome_.ok()) return;
  early_outcome_ = std::move(reason);
  loop_.io().cancel(*this);
}

void io_wait::ended(std::int64_t result) noexcept {
  coro::stop_callback::unlink();
  if (holder) loop_.disarm(*this);
  result_ = result;
  if (result != -ECANCELED) early_outcome_ = status();  // it had happened already
  std::exchange(waiter_, {}).resume();
}

}  // namespace coracle::net
