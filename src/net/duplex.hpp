// duplex: a connection's two byte streams as the room `transport` sees them; callbacks, no coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/net/address.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace coracle {
class auth_context;  // of the room security
}

namespace coracle::net {

// What a duplex tells its user. Every call comes from the loop's queue or from a completion, never from
// inside a call of the duplex (start, send, close, ...), and on the loop that the duplex lives on. The
// duplex may be used from inside each of them, and destroyed from inside closed() only.
class duplex_sink {
 public:
  // Bytes, at least one, borrowed for the call. None come while receiving is paused.
  virtual void received(bytes_view bytes) noexcept = 0;
  // No more bytes will come: 0 when the peer has ended its stream (half-close: sending still works), -errno
  // when the connection broke (ECONNRESET and the like). At most once; not after close().
  virtual void receive_ended(std::int64_t result) noexcept = 0;
  // The end of one send(): the number of its bytes, all of them, or -errno. After an error nothing can be
  // sent. Its bytes may be reused from here on. -ECANCELED when close() cut it short.
  virtual void sent(std::int64_t result) noexcept = 0;
  // duplex::memory_bytes() has changed by what arrives or leaves while receiving is paused, of which no other call tells.
  virtual void memory_changed() noexcept {}
  // The answer to close(), exactly once, and the last call.
  virtual void closed() noexcept = 0;

 protected:
  ~duplex_sink() = default;
};

// Lives on one loop; all of it is for that loop's thread. A duplex that was never started may be destroyed at
// any time (the connection is closed then); a started one only once closed() was called.
class duplex {
 public:
  using piece = runtime_internal::operation::piece;  // data, size

  duplex(const duplex&) = delete;
  duplex& operator=(const duplex&) = delete;
  virtual ~duplex() = default;

  // Begins to receive. Once. The sink stays alive until closed(). Throws std::bad_alloc, and has not begun then.
  virtual void start(duplex_sink& sink) = 0;

  // Backpressure: no received() and no receive_ended() between the two; what the peer sends meanwhile waits
  // in the kernel (or in a bounded buffer) until the peer cannot send any more. Idempotent, and harmless at
  // any time after start().
  virtual void pause_receive() noexcept = 0;
  virtual void resume_receive() noexcept = 0;

  // Sends all bytes, or fails. One at a time: the next when sent() has come. The bytes (and the array of
  // pieces) stay in place until then. False, and no sent(), after shutdown_send() or close(); sending while
  // sending() is a defect of the caller.
  virtual bool send(std::span<const piece> pieces) noexcept = 0;
  bool send(bytes_view bytes) noexcept {
    if (!sending()) one_ = {bytes.data(), bytes.size()};  // else it is refused, or a defect
    return send(std::span<const piece>(&one_, 1));
  }
  [[nodiscard]] virtual bool sending() const noexcept = 0;

  // Ends the stream to the peer, behind what is being sent. The other direction goes on.
  virtual void shutdown_send() noexcept = 0;

  // Cuts short what is in flight, waits for its end (sent() comes for a send), gives the connection up, then
  // calls closed(). No received() or receive_ended() follows. `abort` resets the connection, so that the peer
  // learns that the end is no proper one. A proper end, with everything that was sent arriving, is: sent(),
  // shutdown_send(), receive_ended(0), close(). Idempotent; a later abort does not change an earlier close.
  virtual void close(bool abort = false) noexcept = 0;

  // What was sent and is not acknowledged `after` so long ends the connection (TCP_USER_TIMEOUT). Nothing where there
  // is no TCP below. Before start().
  virtual void give_up_unacknowledged(duration /*after*/) noexcept {}

  // Gives back memory that the next bytes would use again: the connection idles. Nothing is being sent.
  virtual void release_idle_memory() noexcept {}

  // What it holds beside itself because of its peer, about: for an account of memory. Cheap; 0 for what holds nothing.
  [[nodiscard]] virtual std::size_t memory_bytes() const noexcept { return 0; }

  // None ("address()") in memory. Ask before close(): an open socket is asked on the first call.
  [[nodiscard]] virtual const address& peer_address() const noexcept = 0;
  [[nodiscard]] virtual const address& local_address() const noexcept = 0;

  // Who is at the other end, and how that is known: null in plaintext, and before a handshake has ended. It is
  // there when the first received() comes. As long-lived as the duplex.
  [[nodiscard]] virtual const auth_context* auth() const noexcept { return nullptr; }
  // Why receiving (or sending) ended with an error, where an error number does not say it; else empty. From
  // then on until the duplex is destroyed.
  [[nodiscard]] virtual std::string_view end_reason() const noexcept { return {}; }

 protected:
  duplex() noexcept = default;

 private:
  piece one_{};
};

}  // namespace coracle::net
