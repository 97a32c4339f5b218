// What a task waits for on a call: a message read, a message written.
#include "rpc/call.hpp"

#include <coroutine>

namespace coracle::rpc {

read_operation::~read_operation() {
  if (call_) call_->abandon_read();
}

void read_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<read_operation&>(self);
  if (op.call_) op.call_->stop_reading();
}

bool read_operation::start(call* c, void* into, std::coroutine_handle<> waiter,
                           const coro::stop_token& stop) noexcept {
  into_ = into;
  waiter_ = waiter;
  run = [](coro::work& w) noexcept { static_cast<read_operation&>(w).resume(); };
  if (!c) {
    outcome_ = outcome::failed;
    why_ = status::cancelled("the call is over");
    return false;
  }
  if (!c->begin_read(*this)) return false;
  call_ = c;
  if (!stop.subscribe(*this)) c->stop_reading();
  return true;
}

write_operation::~write_operation() {
  if (call_) call_->abandon_write();
}

void write_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<write_operation&>(self);
  if (op.call_) op.call_->stop_writing();
}

bool write_operation::start(call* c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept {
  waiter_ = waiter;
  run = [](coro::work& w) noexcept { static_cast<write_operation&>(w).resume(); };
  if (!c) {
    how_ = status::cancelled("the call is over");
    return false;
  }
  if (!c->begin_write(*this)) {
    if (!how_.ok() || !c->ends_pump()) return false;
    coro::this_executor().post(*this);
    return true;
  }
  call_ = c;
  if (!stop.subscribe(*this)) c->stop_writing();
  return true;
}

}  // namespace coracle::rpc
