#include "client/channel_observers.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/observer_group.hpp"

#include <utility>

namespace coracle::client {

namespace {

class group final : public client_observer {
 public:
  explicit group(std::vector<std::shared_ptr<client_observer>> all) noexcept : of_(std::move(all)) {}

  void call_started(observed_call& c) noexcept override {
    of_.begin(c.user);
    of_.each(c.user, [&](client_observer& o) { o.call_started(c); });
  }
  void call_resolved(observed_call& c) noexcept override {
    of_.each(c.user, [&](client_observer& o) { o.call_resolved(c); });
  }
  void attempt_started(observed_attempt& a) noexcept override {
    of_.begin(a.user);
    each(a, [&](client_observer& o) { o.attempt_started(a); });
  }
  void attempt_attached(observed_attempt& a) noexcept override {
    each(a, [&](client_observer& o) { o.attempt_attached(a); });
  }
  void message_sent(observed_attempt& a, message_size m) noexcept override {
    each(a, [&](client_observer& o) { o.message_sent(a, m); });
  }
  void headers_received(observed_attempt& a, time_point now) noexcept override {
    each(a, [&](client_observer& o) { o.headers_received(a, now); });
  }
  void message_received(observed_attempt& a, message_size m) noexcept override {
    each(a, [&](client_observer& o) { o.message_received(a, m); });
  }
  void attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept override {
    each(a, [&](client_observer& o) { o.attempt_ended(a, outcome, now); });
    of_.end(a.user);
  }
  void call_ended(observed_call& c, const status& outcome, time_point now) noexcept override {
    of_.each(c.user, [&](client_observer& o) { o.call_ended(c, outcome, now); });
    of_.end(c.user);
  }

 private:
  // Both the attempt and its call show an observer its own data.
  template <class Notify>
  void each(observed_attempt& a, Notify notify) const noexcept {
    void** const list = static_cast<void**>(a.user);
    if (!list) return;
    std::size_t i = 0;
    of_.each(a.call.user, [&](client_observer& o) {
      a.user = list[i];
      notify(o);
      list[i++] = a.user;
    });
    a.user = list;
  }

  rpc::observer_group<std::shared_ptr<client_observer>> of_;
};

}  // namespace

std::shared_ptr<channel_observers> channel_observers::of(runtime& rt) {
  return rt.core().companion_of<channel_observers>();
}

void channel_observers::add(channel_observer_factory make) {
  const std::lock_guard lock(mutex_);
  factories_.push_back(std::move(make));
}

std::shared_ptr<client_observer> channel_observers::observer_of(std::string_view target,
                                                                const channel_options& options) const {
  std::vector<channel_observer_factory> factories;
  {
    const std::lock_guard lock(mutex_);
    factories = factories_;
  }
  std::vector<std::shared_ptr<client_observer>> all;
  if (options.observer) all.push_back(options.observer);
  for (const auto& make : options.observer_factories) {
    CORACLE_REQUIRE(make && *make, "channel_options::observer_factories has an empty function");
    if (auto made = (*make)(target)) all.push_back(std::move(made));
  }
  for (const auto& make : factories)
    if (auto made = make(target)) all.push_back(std::move(made));
  if (all.empty()) return nullptr;
  if (all.size() == 1) return std::move(all.front());
  return std::make_shared<group>(std::move(all));
}

void channel_observers::runtime_ended() noexcept {
  const std::lock_guard lock(mutex_);
  factories_.clear();
}

}  // namespace coracle::client

namespace coracle {

void observe_channels(runtime& on, channel_observer_factory make) {
  CORACLE_REQUIRE(make, "observe_channels() was given an empty function");
  client::channel_observers::of(on)->add(std::move(make));
}

}  // namespace coracle
