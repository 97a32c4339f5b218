// interrupts: makes Ctrl-C cancel the running call instead of ending the session.
#pragma once

#include <coracle/base/result.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/coro/task.hpp>
#include <coracle/net/signal_watch.hpp>
#include <coracle/rpc/bytes_message.hpp>
#include <coracle/runtime/runtime.hpp>

#include <functional>
#include <optional>
#include <thread>

namespace coracle::tools {

// Starts a thread that blocks SIGINT, as the threads of a runtime do.
[[nodiscard]] std::thread start_without_interrupts(std::function<void()> body);

// While the object exists, SIGINT has no other effect in the whole process. Make and destroy it on a thread
// that drives no loop; `on`, which has one loop, must outlive it.
class interrupts {
 public:
  using conversation = bidi_call<bytes_message, bytes_message>;

  // If signals cannot be watched, SIGINT keeps its previous effect.
  explicit interrupts(runtime& on);
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;

  // Sets the call that SIGINT cancels from now on; null: none. Runs on the loop. Unset a call before it is
  // destroyed.
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
