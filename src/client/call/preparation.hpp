// preparation: what a call waits for before its first attempt: credentials, or the filters of its route.
#pragma once

#include "client/call/method_config.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/runtime/loop.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace coracle::client {

// The result of a preparation.
struct prepared {
  metadata added{};  // to the call's
  std::optional<status> outcome{};  // with which the call ends, also OK; nothing: it goes on
};

class preparation_waiter {
 public:
  // Runs once, on the loop, from its queue.
  virtual void on_prepared(prepared got) noexcept = 0;

 protected:
  ~preparation_waiter() = default;
};

// Belongs to the call. The destructor abandons the work: it is requested to stop, and its result is dropped.
// The task of the work is a root of the runtime and ends by itself, which may be after the call.
class preparation {
 public:
  using work = std::function<task<prepared>()>;
  // What the call needs to go on.
  struct rest {
    std::optional<method_config> config;
    std::string secure_authority;
    bool has_credentials = false;  // they are what is prepared
  };

  preparation(loop& owner_loop, work what, preparation_waiter& waiter, rest then);
  preparation(const preparation&) = delete;
  preparation& operator=(const preparation&) = delete;
  ~preparation();

  const rest then;

 private:
  struct state;
  static task<> run(std::shared_ptr<state> s);
  static task<> await_work(std::shared_ptr<state> s);
  static void notify(state& s, prepared got) noexcept;
  std::shared_ptr<state> state_;
};

// The metadata of credentials.
[[nodiscard]] task<prepared> fetch_credentials(std::shared_ptr<credentials_source> from,
                                               credentials_request call);

}  // namespace coracle::client
