// asio_driver: a runtime that is driven by the thread of an io_context.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/runtime.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#endif

#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace coracle::inline CORACLE_ASIO {

/// Drives loop 0 of a runtime in the thread that runs an io_context, so that Asio code, calls and handlers
/// share that thread. It watches the runtime's descriptor, and neither polls nor uses a thread of its own.
///
///   asio::io_context io;
///   coracle::runtime runtime;
///   coracle::asio_driver driver(io, runtime);
///   io.run();  // until driver.stop()
///
/// The driver counts as work of the io_context until stop(). If an exception left a root task, it leaves
/// io_context::run().
///
/// One thread runs the io_context, and destroys the driver, unless stop() was called before. If several
/// threads run it, pass a strand: whichever thread runs the strand drives the loop for one iteration. The
/// runtime must then use epoll (runtime_options::backend), because a ring of io_uring belongs to one thread,
/// and no thread may call sync_wait(), which would start a thread for the loop.
///
/// The runtime and the io_context must outlive the driver; the runtime may be destroyed before the io_context.
class asio_driver {
  // Outlives the driver while a handler is queued that refers to it.
  class state : public std::enable_shared_from_this<state> {
   public:
    state(const asio_internal::asio::any_io_executor& in, runtime& guest, bool moves)
        : watched_(in), guest_(guest), moves_(moves) {}
    [[nodiscard]] auto executor() { return watched_.get_executor(); }
    void drive() {
      if (ended_) return;
      check_thread();
      std::exception_ptr error;
      bool left = true;
      try {
        left = guest_.poll();
      } catch (...) {
        error = std::current_exception();
      }
      if (ended_) return;
      holder_ = std::this_thread::get_id();
      if (!error && !left && ends_when_done_) end();
      else watch();
      if (error) std::rethrow_exception(error);
    }
    void end_when_done() {
      ends_when_done_ = true;
      if (watched_.is_open()) watched_.cancel();  // drives once more, and finds out whether work is left
    }
    void end() {
      if (ended_) return;
      check_thread();
      ended_ = true;
      if (watched_.is_open()) watched_.release();  // the descriptor is the runtime's: not closed
      if (!moves_ && holder_ != std::thread::id()) guest_.release_loop();
    }

   private:
    void check_thread() const {
      CORACLE_REQUIRE(moves_ || holder_ == std::thread::id() || holder_ == std::this_thread::get_id(),
                      "asio_driver: two threads drive one loop: pass a strand if several threads run the "
                      "io_context, and call stop() before its thread ends");
    }
    void watch() {
      const int descriptor = guest_.pollable();
      const bool another = !watched_.is_open() || watched_.native_handle() != descriptor;
      if (another && watched_.is_open()) watched_.release();
      if (another) watched_.assign(descriptor);
      if (moves_) guest_.release_loop();
      watched_.async_wait(asio_internal::asio::posix::stream_descriptor::wait_read,
                          [s = this->shared_from_this()](asio_internal::error_code) { s->drive(); });
    }

    asio_internal::asio::posix::stream_descriptor watched_;
    runtime& guest_;
    const bool moves_;
    bool ended_ = false;
    bool ends_when_done_ = false;
    std::thread::id holder_;
  };

 public:
  using io_context = asio_internal::asio::io_context;
  using strand = asio_internal::asio::strand<io_context::executor_type>;

  /// For an io_context that one thread runs. May be called on any thread.
  asio_driver(io_context& io, runtime& guest)
      : asio_driver(asio_internal::asio::any_io_executor(io.get_executor()), guest, false) {}
  /// For an io_context that several threads run. Throws usage_error unless the runtime uses epoll.
  asio_driver(const strand& in, runtime& guest)
      : asio_driver(asio_internal::asio::any_io_executor(in), guest, true) {
    CORACLE_REQUIRE(guest.backend_name() == "epoll",
                    "asio_driver with a strand: a runtime whose loop moves between threads needs "
                    "runtime_options{.backend = backend_choice::epoll}");
  }
  asio_driver(const asio_driver&) = delete;
  asio_driver& operator=(const asio_driver&) = delete;
  ~asio_driver() { state_->end(); }

  /// Ends the drive, in the thread that runs the io_context. The runtime keeps its tasks: another driver, or
  /// run(), may continue them. May be called from any thread. Idempotent.
  void stop() {
    asio_internal::asio::post(state_->executor(), [s = state_] { s->end(); });
  }
  /// Ends the drive as soon as no root task is left and no runtime::work_guard is held, as runtime::run()
  /// does: io_context::run() then returns when its own work is done.
  void stop_when_done() {
    asio_internal::asio::post(state_->executor(), [s = state_] { s->end_when_done(); });
  }

 private:
  asio_driver(const asio_internal::asio::any_io_executor& in, runtime& guest, bool moves)
      : state_(std::make_shared<state>(in, guest, moves)) {
    asio_internal::asio::post(in, [s = state_] { s->drive(); });
  }
  std::shared_ptr<state> state_;
};

}  // namespace coracle::inline CORACLE_ASIO
