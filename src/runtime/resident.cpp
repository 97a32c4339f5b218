#include "runtime/resident.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/runtime_core.hpp"

#include <utility>

namespace coracle::runtime_internal {

// Suspends the resident's task until left(). A stop of the runtime during that time calls leave().
class resident::stay : coro::stop_callback {
 public:
  explicit stay(resident& who) noexcept
      : coro::stop_callback([](coro::stop_callback& c) noexcept { static_cast<stay&>(c).who_.leave_once(); }),
        who_(who) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    who_.life_ = h;
    if (!coro::environment_of(h).stop.subscribe(*this)) who_.leave_once();
    return true;
  }
  void await_resume() const noexcept {}

 private:
  resident& who_;
};

resident::resident() noexcept
    : ask_to_leave_(*this,
                    [](coro::work& w) noexcept {
                      resident& self = static_cast<step&>(w).owner;
                      if (self.heed()) self.leave_once();
                    }),
      ask_to_retire_(*this,
                     [](coro::work& w) noexcept {
                       resident& self = static_cast<step&>(w).owner;
                       if (self.heed() && !self.leaving_) self.retire();
                     }),
      end_(*this, [](coro::work& w) noexcept { static_cast<step&>(w).owner.life_.resume(); }) {}

task<> resident::live(std::unique_ptr<resident> who) {
  const std::shared_ptr<residence> door = who->door_;
  if (!who->left_) {  // no request can have reached it through the queue yet
    stay until_left(*who);
    co_await until_left;
  }
  {
    const std::lock_guard lock(door->mutex_);
    door->who_ = nullptr;
  }
  who.reset();
  door->gone.set();
}

std::shared_ptr<residence> resident::settle(loop& on, std::unique_ptr<resident> who) {
  const std::shared_ptr<residence> door = who->door_;
  door->who_ = who.get();
  who->home_ = &on;
  on.owner().core().spawn_resident(static_cast<driven_loop&>(on), live(std::move(who)));
  return door;
}

void resident::leave_once() noexcept {
  if (!std::exchange(leaving_, true)) leave();
}

void resident::left() noexcept {
  CORACLE_ASSERT(leaving_ && !left_, "left() was called twice, or without a request to leave");
  left_ = true;
  if (life_) end_if_unasked();  // else the task has not begun yet, and will check left_
}

// A request in the queue must not outlive this object: the end then waits for the request.
void resident::end_if_unasked() noexcept {
  const std::lock_guard lock(door_->mutex_);
  if (asks_ > 0) return;
  ask_to_leave_.posted = ask_to_retire_.posted = true;
  home_->post(end_);
}

void resident::ask(step& s) noexcept {
  if (std::exchange(s.posted, true)) return;
  ++asks_;
  home_->post(s);
}

bool resident::heed() noexcept {
  {
    const std::lock_guard lock(door_->mutex_);
    --asks_;
  }
  if (left_ && life_) end_if_unasked();
  return !left_;
}

loop& residence::home() const noexcept { return *who_->home_; }

void residence::ask_to_leave() noexcept {
  const std::lock_guard lock(mutex_);
  if (who_) who_->ask(who_->ask_to_leave_);
}

void residence::ask_to_retire() noexcept {
  const std::lock_guard lock(mutex_);
  if (who_) who_->ask(who_->ask_to_retire_);
}

}  // namespace coracle::runtime_internal
