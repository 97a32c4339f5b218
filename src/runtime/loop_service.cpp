#include "runtime/loop_service.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/runtime_core.hpp"

#include <utility>

namespace coracle::runtime_internal {

// Suspends the service's task until shutdown_finished(). A stop of the runtime during that time calls
// begin_shutdown().
class loop_service::shutdown_awaiter : coro::stop_callback {
 public:
  explicit shutdown_awaiter(loop_service& service) noexcept
      : coro::stop_callback([](coro::stop_callback& c) noexcept {
          static_cast<shutdown_awaiter&>(c).service_.begin_shutdown_once();
        }),
        service_(service) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    service_.lifetime_ = h;
    if (!coro::environment_of(h).stop.subscribe(*this)) service_.begin_shutdown_once();
    return true;
  }
  void await_resume() const noexcept {}

 private:
  loop_service& service_;
};

loop_service::loop_service()
    : shutdown_request_(*this,
                        [](coro::runnable& w) noexcept {
                          loop_service& self = static_cast<step&>(w).owner;
                          if (self.take_step(self.shutdown_request_)) self.begin_shutdown_once();
                        }),
      retirement_request_(*this,
                          [](coro::runnable& w) noexcept {
                            loop_service& self = static_cast<step&>(w).owner;
                            if (self.take_step(self.retirement_request_) && !self.shutting_down_)
                              self.retire();
                          }),
      notification_(*this,
                    [](coro::runnable& w) noexcept {
                      loop_service& self = static_cast<step&>(w).owner;
                      if (self.take_step(self.notification_) && !self.shutting_down_) self.notified();
                    }),
      end_(*this, [](coro::runnable& w) noexcept { static_cast<step&>(w).owner.lifetime_.resume(); }) {}

task<> loop_service::run_until_shutdown(std::unique_ptr<loop_service> service) {
  const std::shared_ptr<loop_service_handle> service_handle = service->handle_;
  if (!service->shutdown_finished_) {  // no request can have reached it through the queue yet
    service->begun();
    shutdown_awaiter until_shutdown(*service);
    co_await until_shutdown;
  }
  {
    const std::lock_guard lock(service_handle->mutex_);
    service_handle->service_ = nullptr;
  }
  service.reset();
  service_handle->ended.set();
}

std::shared_ptr<loop_service_handle> loop_service::start(loop& on, std::unique_ptr<loop_service> service) {
  const std::shared_ptr<loop_service_handle> service_handle = service->handle_;
  service_handle->service_ = service.get();
  service->loop_ = &on;
  on.owner().core().spawn_service(static_cast<driven_loop&>(on), run_until_shutdown(std::move(service)));
  return service_handle;
}

void loop_service::begin_shutdown_once() noexcept {
  if (!std::exchange(shutting_down_, true)) begin_shutdown();
}

void loop_service::shutdown_finished() noexcept {
  CORACLE_ASSERT(shutting_down_ && !shutdown_finished_,
                 "shutdown_finished() was called twice, or without a request to shut down");
  shutdown_finished_ = true;
  // else the task has not begun yet, and will check shutdown_finished_
  if (lifetime_) end_unless_shutdown_requested();
}

// A request in the queue must not outlive this object: the end then waits for the request.
void loop_service::end_unless_shutdown_requested() noexcept {
  const std::lock_guard lock(handle_->mutex_);
  if (posted_steps_ > 0) return;
  shutdown_request_.posted = retirement_request_.posted = notification_.posted = true;
  loop_->post(end_);
}

void loop_service::post_step(step& s) noexcept {
  if (std::exchange(s.posted, true)) return;
  ++posted_steps_;
  loop_->post(s);
}

bool loop_service::take_step(step& s) noexcept {
  {
    const std::lock_guard lock(handle_->mutex_);
    --posted_steps_;
    if (&s == &notification_) s.posted = false;
  }
  if (shutdown_finished_ && lifetime_) end_unless_shutdown_requested();
  return !shutdown_finished_;
}

loop& loop_service_handle::owner_loop() const noexcept { return *service_->loop_; }

void loop_service_handle::request_shutdown() noexcept {
  const std::lock_guard lock(mutex_);
  if (service_) service_->post_step(service_->shutdown_request_);
}

void loop_service_handle::request_retirement() noexcept {
  const std::lock_guard lock(mutex_);
  if (service_) service_->post_step(service_->retirement_request_);
}

void loop_service_handle::notify() noexcept {
  const std::lock_guard lock(mutex_);
  if (service_) service_->post_step(service_->notification_);
}

}  // namespace coracle::runtime_internal
