#include "client/call/credentials_fetch.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/message_format.hpp"

#include <string>
#include <utility>

namespace coracle::client {

struct credentials_fetch::state {
  std::shared_ptr<credentials_source> source;
  credentials_request call;
  credentials_waiter* waiter;  // null: abandoned, or already notified
  scope* work = nullptr;       // while the source is running
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

credentials_fetch::credentials_fetch(loop& owner_loop, std::shared_ptr<credentials_source> from,
                                     credentials_request call, credentials_waiter& waiter,
                                     std::optional<method_config> c)
    : config(std::move(c)),
      state_(std::make_shared<state>(state{std::move(from), std::move(call), &waiter})) {
  owner_loop.owner().spawn_on(owner_loop, run(state_));
}

credentials_fetch::~credentials_fetch() {
  if (!std::exchange(state_->waiter, nullptr)) return;
  if (state_->work) state_->work->request_stop();
}

task<> credentials_fetch::run(std::shared_ptr<state> s) {
  if (!s->waiter) co_return;
  const coro::environment& here = co_await coro::this_environment();
  scope work(here);
  s->work = &work;
  if (!base::if_memory_allows([&] { work.spawn(request_metadata(s)); })) notify(*s, rpc::out_of_memory());
  co_await work.join();
  s->work = nullptr;
}

void credentials_fetch::notify(state& s, const result<metadata>& got) noexcept {
  if (credentials_waiter* waiter = std::exchange(s.waiter, nullptr)) waiter->on_credentials(got);
}

task<> credentials_fetch::request_metadata(std::shared_ptr<state> s) {
  result<metadata> got = status::unauthenticated("the source of call credentials threw an exception");
  try {
    task<result<metadata>> asking = s->source->metadata_for(s->call);
    got = co_await std::move(asking);
    if (!got) got = as_call_status(got.status());
  } catch (const std::bad_alloc&) {
    got = rpc::out_of_memory();
  } catch (const coro::cancelled&) {
    got = status::cancelled("the source of call credentials was cancelled");
  } catch (...) {
    // the status is set above
  }
  notify(*s, got);
}

}  // namespace coracle::client
