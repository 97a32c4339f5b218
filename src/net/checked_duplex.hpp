// checked_duplex: the state that every duplex keeps between start() and closed(), and the checks of its use.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "net/duplex.hpp"

#include <utility>

namespace coracle::net {

// Base of the duplexes over a socket, a byte_stream and memory. Their functions call the one here that has
// their name first. No function of this class is a new virtual one, so that send() costs nothing more.
class checked_duplex : public duplex {
 public:
  using duplex::send;
  [[nodiscard]] bool sending() const noexcept final { return sending_; }

 protected:
  checked_duplex() noexcept = default;

  void check_start() const noexcept { CORACLE_ASSERT(!sink_, "a duplex is started once"); }
  // Returns false if the duplex accepts no more bytes.
  [[nodiscard]] bool begin_send() noexcept {
    if (closing_ || shut_down_) return false;
    CORACLE_ASSERT(sink_ && !sending_,
                   "a duplex sends after start(), and one send at a time: wait for sent()");
    return sending_ = true;
  }
  // Returns false if the end needs no work: it comes already.
  [[nodiscard]] bool begin_shutdown_send() noexcept { return !closing_ && !std::exchange(shut_down_, true); }
  // Returns false if the duplex is closing already; `abort` has no effect then.
  [[nodiscard]] bool begin_close(bool abort) noexcept {
    CORACLE_ASSERT(sink_, "a duplex is closed after start(); before, it is destroyed");
    if (std::exchange(closing_, true)) return false;
    abort_ = abort;
    return true;
  }
  void report_closed() noexcept {
    finished_ = true;
    sink_->closed();  // may destroy *this
  }
  void check_destruction() const noexcept {
    CORACLE_ASSERT(!sink_ || finished_, "a duplex was destroyed before closed() was called");
  }

  duplex_sink* sink_ = nullptr;  // null before start()
  bool sending_ = false;
  bool paused_ = false;
  bool shut_down_ = false;
  bool closing_ = false;
  bool abort_ = false;  // while closing

 private:
  bool finished_ = false;
};

}  // namespace coracle::net
