// server_watch: notifies the observer of a server of one call.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/server/server_observer.hpp"
#include "rpc/call.hpp"

namespace coracle::server_internal {

// Belongs to the call; made only if there is an observer.
class server_watch final : public rpc::message_watch, public coro::pooled {
 public:
  server_watch(server_observer& o, server_context& c, bool registered) noexcept : observer_(o), call_(c) {
    call_.registered = registered;
    call_.began = coro::this_executor().now();
    observer_.call_started(call_);
  }
  void headers_sent() noexcept { observer_.headers_sent(call_); }
  void ended(const status& outcome) noexcept {
    observer_.call_ended(call_, outcome, coro::this_executor().now());
  }

  // rpc::message_watch
  void message_sent(message_size m) noexcept override { observer_.message_sent(call_, m); }
  void message_received(message_size m) noexcept override { observer_.message_received(call_, m); }

 private:
  server_observer& observer_;
  served_call call_;
};

}  // namespace coracle::server_internal
