// interrupts: Ctrl-C ends the call that runs, not the session.
#pragma once

#include <coracle/base/result.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/coro/task.hpp>
#include <coracle/net/signal_watch.hpp>
#include <coracle/rpc/bytes_message.hpp>
#include <coracle/runtime/runtime.hpp>

#include <optional>

namespace coracle::tools {

// While it lives, SIGINT does nothing else in the whole process. Made and destroyed on a plain thread; `on`, which has one
// loop, must outlive it.
class interrupts {
 public:
  using conversation = bidi_call<bytes_message, bytes_message>;

  // Where signals cannot be watched, they do what they did before.
  explicit interrupts(runtime& on);
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;

  // The call that is cancelled from now on; null: none. On the loop. A call must be taken away before it goes.
  void cancel(conversation* running) noexcept { running_ = running; }

 private:
  task<> open();
  task<> close();
  task<> follow();

  runtime& on_;
  std::optional<net::signal_watch> watch_;
  std::optional<scope> following_;
  conversation* running_ = nullptr;
};

}  // namespace coracle::tools
