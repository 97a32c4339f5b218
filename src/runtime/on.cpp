#include "coracle/runtime/on.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::coro {

visit::visit(loop& where) noexcept
    : stop_callback([](stop_callback& c) noexcept {  // on the owner loop
        auto& self = static_cast<visit&>(c);
        ++self.away_;
        self.send(self.news_, self.where_, [](work& w) noexcept {
          visit& there = static_cast<message&>(w).of;
          there.stop_.request_stop();
          there.send(there.news_, *there.home_,
                     [](work& back) noexcept { static_cast<message&>(back).of.home_again(); });
        });
      }),
      where_(where) {}

void visit::send(message& m, loop& to, void (*what)(work&) noexcept) noexcept {
  m.run = what;
  to.post(m);
}

bool visit::begin(std::coroutine_handle<> waiter, const tree_node* node, const environment& e,
                  std::coroutine_handle<> task, promise_base& promise) {
  home_ = loop::current();
  CORACLE_ASSERT(home_, "on() requires a runtime: await it in a task that runs on a loop");
  CORACLE_REQUIRE(&home_->owner() == &where_.owner(),
                  "on() with a loop of another runtime: spawn a task there instead");
  if (home_ == &where_) return false;
  waiter_ = waiter;
  node_ = node;
  task_ = task;
  promise_ = &promise;
  environment_ = {stop_.token(), e.deadline, e.call};
  promise.inherit(environment_);
  promise.set_completion(*this);
  if (!e.stop.subscribe(*this)) stop_.request_stop();
  away_ = 1;
  send(trip_, where_, [](work& w) noexcept {
    const visit& there = static_cast<message&>(w).of;
    promise_base::begin(there.task_, *there.promise_, there.node_);
  });
  return true;
}

// Runs on the other loop. The frame stays for the awaiter, which takes the value.
std::coroutine_handle<> visit::finished(promise_base&, std::coroutine_handle<>) noexcept {
  send(trip_, *home_, [](work& w) noexcept {
    visit& here = static_cast<message&>(w).of;
    here.unlink();  // stops are not forwarded any more
    here.home_again();
  });
  return std::noop_coroutine();
}

void visit::home_again() noexcept {
  if (--away_ == 0) waiter_.resume();
}

}  // namespace coracle::coro
