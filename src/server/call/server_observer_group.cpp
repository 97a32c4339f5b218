#include "server/call/server_observer_group.hpp"

#include "rpc/observer_group.hpp"

#include <algorithm>
#include <utility>

namespace coracle::server_internal {

namespace {

class group final : public server_observer {
 public:
  explicit group(std::vector<server_observer*> all) noexcept : of_(std::move(all)) {}
  [[nodiscard]] bool wants_progress() const noexcept override {
    return std::ranges::any_of(of_.all(), [](const auto& o) { return o->wants_progress(); });
  }
  void call_started(served_call& c) noexcept override {
    of_.begin(c.user);
    of_.each(c.user, [&](server_observer& o) { o.call_started(c); });
  }
  void headers_sent(served_call& c) noexcept override {
    of_.each(c.user, [&](server_observer& o) { o.headers_sent(c); });
  }
  void message_received(served_call& c, message_size m) noexcept override {
    of_.each(c.user, [&](server_observer& o) { o.message_received(c, m); });
  }
  void message_sent(served_call& c, message_size m) noexcept override {
    of_.each(c.user, [&](server_observer& o) { o.message_sent(c, m); });
  }
  void call_ended(served_call& c, const status& outcome, time_point now) noexcept override {
    of_.each(c.user, [&](server_observer& o) { o.call_ended(c, outcome, now); });
    of_.end(c.user);
  }

 private:
  rpc::observer_group<server_observer*> of_;
};

}  // namespace

std::unique_ptr<server_observer> group_of(std::vector<server_observer*> all) {
  return std::make_unique<group>(std::move(all));
}

}  // namespace coracle::server_internal
