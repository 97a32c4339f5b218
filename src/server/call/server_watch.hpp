// server_watch: notifies the observer of a server of one call.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/server/server_observer.hpp"
#include "rpc/call.hpp"

#include <cstdint>

namespace coracle::server_internal {

// Part of the call; made only if there is an observer.
class server_watch final : public rpc::message_watch {
 public:
  // index: served_call::method_index. wants_progress: what the observer returned.
  server_watch(server_observer& o, server_context& c, std::uint32_t index, time_point began,
               bool wants_progress) noexcept
      : observer_(o), call_(c) {
    call_.method_index = index;
    call_.wants_progress = wants_progress;
    call_.began = began;
    observer_.call_started(call_);
  }
  [[nodiscard]] bool wants_progress() const noexcept { return call_.wants_progress; }
  void headers_sent() noexcept { observer_.headers_sent(call_); }
  void ended(const status& outcome, const call_traffic& exchanged, time_point now) noexcept {
    call_.traffic_ = &exchanged;
    observer_.call_ended(call_, outcome, now);
  }

  // rpc::message_watch
  void message_sent(message_size m) noexcept override { observer_.message_sent(call_, m); }
  void message_received(message_size m) noexcept override { observer_.message_received(call_, m); }

 private:
  server_observer& observer_;
  served_call call_;
};

}  // namespace coracle::server_internal
