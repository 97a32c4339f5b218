// credentials_fetch: a call's wait for what a credentials_source gives.
#pragma once

#include "client/call_attempt.hpp"
#include "client/method_config.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/runtime/loop.hpp"

#include <memory>
#include <optional>

namespace coracle::client {

// What a call still needs for its first attempt, when its channel may be gone.
struct delayed_start {
  std::shared_ptr<attempt_source> source;
  std::optional<method_config> config;
};

class credentials_waiter {
 public:
  // Once, on the loop, from its queue.
  virtual void credentials_came(const result<metadata>& got) noexcept = 0;

 protected:
  ~credentials_waiter() = default;
};

// Belongs to the call. Destroying it gives up: the source is asked to stop, and what it says is dropped. The task
// that asks it is a root of the runtime and ends by itself.
class credentials_fetch {
 public:
  credentials_fetch(loop& home, std::shared_ptr<credentials_source> from, credentials_request call,
                    credentials_waiter& waiter, delayed_start next);
  credentials_fetch(const credentials_fetch&) = delete;
  credentials_fetch& operator=(const credentials_fetch&) = delete;
  ~credentials_fetch();

  delayed_start next;

 private:
  struct state;
  static task<> run(std::shared_ptr<state> s);
  static task<> ask(std::shared_ptr<state> s);
  std::shared_ptr<state> state_;
};

}  // namespace coracle::client
