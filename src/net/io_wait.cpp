#include "net/io_wait.hpp"

#include <cerrno>
#include "coracle/base/usage_error.hpp"

namespace coracle::net {

namespace {

status expired() { return status::deadline_exceeded("the deadline passed"); }

}  // namespace

status why_stopped(const loop& on, time_point deadline) {
  if (deadline != never && on.now() >= deadline) return expired();
  return status::cancelled("the task was asked to stop");
}

io_wait::io_wait(loop& home, runtime_internal::operation::kind operation_kind,
                 runtime_internal::handle handle) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        auto& self = static_cast<io_wait&>(c);
        self.interrupt(why_stopped(self.home_, self.deadline_));
      }),
      home_(home) {
  what = operation_kind;
  on = handle;
  complete = [](runtime_internal::operation& o, std::int64_t result) noexcept {
    static_cast<io_wait&>(o).ended(result);
  };
  fire = [](coro::timer& t) noexcept { static_cast<io_wait&>(t).interrupt(expired()); };
}

bool io_wait::start(std::coroutine_handle<> h, const coro::environment& e) {
  CORACLE_REQUIRE(home_.is_current(), "a stream or listener was used on a loop other than its owner loop");
  if (!early_.ok()) early_ = status();
  deadline_ = e.deadline;
  const bool late = deadline_ != never && deadline_ <= home_.now();
  if (late || e.stop.stop_requested()) {
    early_ = why_stopped(home_, deadline_);
    result_ = -ECANCELED;
    return false;
  }
  if (const auto done = home_.io().perform_or_submit(*this)) {
    result_ = *done;
    return false;
  }
  waiter_ = h;
  e.stop.subscribe(*this);
  if (deadline_ != never) home_.arm(*this, deadline_);
  return true;
}

void io_wait::interrupt(status why) noexcept {
  if (!waiter_ || !early_.ok()) return;
  early_ = std::move(why);
  home_.io().cancel(*this);
}

void io_wait::ended(std::int64_t result) noexcept {
  coro::stop_callback::unlink();
  if (holder) home_.disarm(*this);
  result_ = result;
  if (result != -ECANCELED) early_ = status();  // it had happened already
  std::exchange(waiter_, {}).resume();
}

}  // namespace coracle::net
