#include "client/call/preparation.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/message_format.hpp"

#include <string>
#include <utility>

namespace coracle::client {

struct preparation::state {
  work what;
  preparation_waiter* waiter;  // null: abandoned, or already notified
  scope* running = nullptr;  // while the work is running
};

namespace {

// gRFC A54: a code that describes the server's resources must not come from the client itself.
status as_call_status(const status& reason) {
  switch (reason.code()) {
    case status_code::invalid_argument:
    case status_code::not_found:
    case status_code::already_exists:
    case status_code::failed_precondition:
    case status_code::aborted:
    case status_code::out_of_range:
    case status_code::data_loss:
      return status::internal("the source of call credentials failed: " + reason.to_string());
    default: return reason;
  }
}

}  // namespace

preparation::preparation(loop& owner_loop, work what, preparation_waiter& waiter, rest r)
    : then(std::move(r)), state_(std::make_shared<state>(state{std::move(what), &waiter})) {
  owner_loop.owner().spawn_on(owner_loop, run(state_));
}

preparation::~preparation() {
  if (!std::exchange(state_->waiter, nullptr)) return;
  if (state_->running) state_->running->request_stop();
}

task<> preparation::run(std::shared_ptr<state> s) {
  if (!s->waiter) co_return;
  const coro::environment& here = co_await coro::this_environment();
  scope running(here);
  s->running = &running;
  if (!base::if_memory_allows([&] { running.spawn(await_work(s)); }))
    notify(*s, prepared{{}, rpc::out_of_memory()});
  co_await running.join();
  s->running = nullptr;
}

void preparation::notify(state& s, prepared got) noexcept {
  if (preparation_waiter* waiter = std::exchange(s.waiter, nullptr)) waiter->on_prepared(std::move(got));
}

task<> preparation::await_work(std::shared_ptr<state> s) {
  prepared got;
  got.outcome = status::internal("a filter of the call threw an exception: it must return a status");
  try {
    task<prepared> working = s->what();
    got = co_await std::move(working);
  } catch (const std::bad_alloc&) {
    got.outcome = rpc::out_of_memory();
  } catch (const coro::cancelled&) {
    got.outcome = status::cancelled("a filter of the call was cancelled");
  } catch (...) {
    // the status is set above
  }
  notify(*s, std::move(got));
}

task<prepared> fetch_credentials(std::shared_ptr<credentials_source> from, credentials_request call) {
  prepared to;
  to.outcome = status::unauthenticated("the source of call credentials threw an exception");
  try {
    task<result<metadata>> asking = from->metadata_for(std::move(call));
    auto got = co_await std::move(asking);
    if (got) {
      to.added = *std::move(got);
      to.outcome.reset();
    } else {
      to.outcome = as_call_status(got.status());
    }
  } catch (const std::bad_alloc&) {
    to.outcome = rpc::out_of_memory();
  } catch (const coro::cancelled&) {
    to.outcome = status::cancelled("the source of call credentials was cancelled");
  } catch (...) {
    // the status is set above
  }
  co_return to;
}

}  // namespace coracle::client
