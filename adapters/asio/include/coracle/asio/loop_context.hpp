// loop_context: Asio code on a loop of a runtime.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/asio/loop_executor.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::inline CORACLE_ASIO {

/// An execution context of Asio over one loop: functions that are given to its executor, and coroutines that
/// are spawned on it, run on the thread that drives the loop.
///
///   coracle::loop_context here(runtime.at(0));
///   asio::co_spawn(here, work(), asio::detached);
///   runtime.run();
///
/// Its executor counts outstanding work as runtime::keep_running() does: run() does not return while a
/// coroutine of Asio has not ended. An exception that leaves a function is logged, stops the runtime and
/// leaves runtime::run(). Sockets and timers of Asio need an io_context; with this executor as the associated
/// one their handlers run on the loop.
///
/// Any thread may use the executor. The runtime must outlive this object, and this object everything that
/// holds the executor.
class loop_context : public asio_internal::asio::execution_context {
 public:
  using executor_type = asio_internal::loop_executor<loop_context>;
  explicit loop_context(loop& on) : on_(on) {}
  ~loop_context() {
    shutdown();
    destroy();
  }
  [[nodiscard]] executor_type get_executor() noexcept { return executor_type(on_, *this); }

 private:
  loop& on_;
};

}  // namespace coracle::inline CORACLE_ASIO
