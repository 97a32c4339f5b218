// credentials_fetch: a call's wait for the result of a credentials_source.
#pragma once

#include "client/call/call_attempt.hpp"
#include "client/call/method_config.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/runtime/loop.hpp"

#include <memory>
#include <optional>

namespace coracle::client {

class credentials_waiter {
 public:
  // Runs once, on the loop, from its queue.
  virtual void on_credentials(const result<metadata>& got) noexcept = 0;

 protected:
  ~credentials_waiter() = default;
};

// Belongs to the call. The destructor abandons the request: the source is requested to stop, and its result
// is dropped. The task that calls the source is a root of the runtime and ends by itself.
class credentials_fetch {
 public:
  credentials_fetch(loop& owner_loop, std::shared_ptr<credentials_source> from, credentials_request call,
                    credentials_waiter& waiter, std::optional<method_config> config);
  credentials_fetch(const credentials_fetch&) = delete;
  credentials_fetch& operator=(const credentials_fetch&) = delete;
  ~credentials_fetch();

  const std::optional<method_config> config;  // for the first attempt

 private:
  struct state;
  static task<> run(std::shared_ptr<state> s);
  static task<> request_metadata(std::shared_ptr<state> s);
  static void notify(state& s, const result<metadata>& got) noexcept;
  std::shared_ptr<state> state_;
};

}  // namespace coracle::client
