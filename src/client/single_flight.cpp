#include "coracle/client/single_flight.hpp"

#include "client/call/client_interceptor_chain.hpp"
#include "client/call/retry_instruments.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/method_list.hpp"

#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle {

namespace {

// What of the options makes calls equal.
call_options comparable(const call_options& of) {
  call_options o = of;
  o.timeout.reset();
  o.deadline_margin.reset();
  o.telemetry_label.clear();
  return o;
}

// A call that is in progress, and those that wait for its end. All are calls of one loop.
struct flight {
  explicit flight(const call_options& o) : options(comparable(o)) {}
  const call_options options;
  std::size_t waiting = 0;
  // Set before `ended`; no outcome: one of those that wait must make the call.
  std::optional<status> outcome;
  std::string reply;
  event<> ended;
};

void append(std::string& key, std::string_view part) {
  key.append(std::to_string(part.size())).append(":").append(part);
}

// What makes calls equal, but for their options: of one loop and channel, with what the call of the handler
// passes on.
std::string key_of(const client_context& call, const coro::environment& here, bytes_view request) {
  const void* const places[] = {
      loop::current(), static_cast<const client::client_interceptor_chain&>(call).channel_identity()};
  std::string key(reinterpret_cast<const char*>(places), sizeof places);
  append(key, call.method());
  append(key, as_text(request));
  metadata passed;
  rpc::propagate(here, {}, std::nullopt, passed);
  for (const auto& [name, value] : passed) {
    if (rpc::is_trace_key(name)) continue;
    append(key, name);
    append(key, value);
  }
  return key;
}

class shared_calls final : public client_interceptor {
 public:
  explicit shared_calls(std::vector<std::string> methods) : methods_(std::move(methods)) {}

  task<status> intercept(client_context& call, next_call next) override {
    if (!next.has_reply() || !methods_.contains(call.method()) || call.options().has_bad_metadata())
      co_return co_await next();
    const bytes_view request = next.request().bytes();
    if (request.size() > single_flight_request_bytes_max) co_return co_await next();
    const coro::environment& here = co_await coro::this_environment();
    const std::string key = key_of(call, here, request);
    while (const std::shared_ptr<flight> other = join(key, call.options())) {
      co_await other->ended;
      if (!other->outcome) continue;
      client::measure_call_shared();
      if (other->outcome->ok()) next.reply().set_bytes(other->reply);
      co_return *other->outcome;
    }
    flight_in_progress own(*this, key, call.options());
    const status s = co_await next();
    // What the time of this caller, or its stop, may have caused, says nothing to those that wait.
    const bool has_own_end = s.code() == status_code::cancelled || s.code() == status_code::deadline_exceeded;
    const bool is_own = has_own_end && (here.stop.stop_requested() || call.deadline() != never ||
                                        call.options().timeout.has_value());
    if (own.land() && !is_own) own.share(s, next);
    co_return s;
  }

 private:
  using flights = std::multimap<std::string, std::shared_ptr<flight>, std::less<>>;

  // Of the call that is sent. Lets the others go on, on every path out of it.
  class flight_in_progress {
   public:
    flight_in_progress(shared_calls& in, const std::string& key, const call_options& options)
        : in_(in), flight_(std::make_shared<flight>(options)), position_(in.add(key, flight_)) {}
    flight_in_progress(const flight_in_progress&) = delete;
    flight_in_progress& operator=(const flight_in_progress&) = delete;
    ~flight_in_progress() {
      if (open_) (void)land();
      flight_->ended.set();
    }
    // No call joins any more. Returns whether any have.
    [[nodiscard]] bool land() noexcept {
      in_.remove(position_);
      open_ = false;
      return flight_->waiting > 0;
    }
    // If the reply cannot be kept, those that wait make the call themselves.
    void share(const status& outcome, const next_call& of) noexcept {
      try {
        if (outcome.ok()) flight_->reply = as_text(of.reply().bytes());
        flight_->outcome = outcome;
      } catch (const std::exception&) {
        flight_->reply.clear();
      }
    }

   private:
    shared_calls& in_;
    const std::shared_ptr<flight> flight_;
    const flights::iterator position_;
    bool open_ = true;
  };

  // The equal call that is in progress; null if there is none.
  std::shared_ptr<flight> join(const std::string& key, const call_options& options) {
    const call_options wanted = comparable(options);
    const std::lock_guard lock(mutex_);
    const auto [first, last] = flights_.equal_range(key);
    for (auto i = first; i != last; ++i)
      if (i->second->options == wanted) return ++i->second->waiting, i->second;
    return nullptr;
  }
  flights::iterator add(const std::string& key, std::shared_ptr<flight> f) {
    const std::lock_guard lock(mutex_);
    return flights_.emplace(key, std::move(f));
  }
  void remove(flights::iterator position) noexcept {
    const std::lock_guard lock(mutex_);
    flights_.erase(position);
  }

  const rpc::method_list methods_;
  std::mutex mutex_;  // the calls of all loops are here
  flights flights_;
};

}  // namespace

std::shared_ptr<client_interceptor> single_flight(std::vector<std::string> methods) {
  return std::make_shared<shared_calls>(std::move(methods));
}

}  // namespace coracle
