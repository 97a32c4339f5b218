#include "coracle/runtime/on.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::coro {

loop_hop::loop_hop(loop& where) noexcept
    : stop_callback([](stop_callback& c) noexcept {  // on the owner loop
        auto& self = static_cast<loop_hop&>(c);
        ++self.messages_out_;
        self.send(self.stop_message_, self.where_, [](runnable& w) noexcept {
          loop_hop& there = static_cast<message&>(w).of;
          there.stop_.request_stop();
          there.send(there.stop_message_, *there.loop_,
                     [](runnable& back) noexcept { static_cast<message&>(back).of.on_message_returned(); });
        });
      }),
      where_(where) {}

void loop_hop::send(message& m, loop& to, void (*deliver)(runnable&) noexcept) noexcept {
  m.run = deliver;
  to.post(m);
}

bool loop_hop::begin(std::coroutine_handle<> waiter, const tree_node* node, const environment& e,
                     std::coroutine_handle<> task, promise_base& promise) {
  loop_ = loop::current();
  CORACLE_ASSERT(loop_, "on() requires a runtime: await it in a task that runs on a loop");
  CORACLE_REQUIRE(&loop_->owner() == &where_.owner(),
                  "on() with a loop of another runtime: spawn a task there instead");
  if (loop_ == &where_) return false;
  waiter_ = waiter;
  node_ = node;
  task_ = task;
  promise_ = &promise;
  environment_ = {stop_.token(), e.deadline, e.call, e.span};
  promise.inherit(environment_);
  promise.set_completion(*this);
  if (!e.stop.subscribe(*this)) stop_.request_stop();
  messages_out_ = 1;
  send(task_message_, where_, [](runnable& w) noexcept {
    const loop_hop& there = static_cast<message&>(w).of;
    promise_base::begin(there.task_, *there.promise_, there.node_);
  });
  return true;
}

// Runs on the other loop. The frame stays for the awaiter, which takes the value.
std::coroutine_handle<> loop_hop::finished(promise_base&, std::coroutine_handle<>) noexcept {
  send(task_message_, *loop_, [](runnable& w) noexcept {
    loop_hop& here = static_cast<message&>(w).of;
    here.unlink();  // stops are not forwarded any more
    here.on_message_returned();
  });
  return std::noop_coroutine();
}

void loop_hop::on_message_returned() noexcept {
  if (--messages_out_ == 0) waiter_.resume();
}

}  // namespace coracle::coro
