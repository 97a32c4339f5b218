// duplex: the two byte streams of a connection as `transport` uses them; callbacks, no coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/net/address.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {
class auth_context;  // defined by the security module
}

namespace coracle::net {

// For metrics (gRFC A118).
struct handshake_end {
  std::string_view result;  // "SUCCESS" or the name of a failure; static text
  bool resumed = false;     // a session was resumed
};

// The callbacks of a duplex. Every call comes from the loop's queue or from a completion, never from inside a
// call of the duplex (start, send, close, ...), and on the loop on which the duplex lives. A callback may use
// the duplex; only closed() may destroy it.
class duplex_sink {
 public:
  // duplex::established() has become true. Not called for a duplex that is established from the start.
  virtual void handshake_ended() noexcept {}
  // Delivers at least one byte, borrowed for the call. Not called while receiving is paused.
  virtual void received(bytes_view bytes) noexcept = 0;
  // Reports the end of the incoming bytes: 0 when the peer has ended its stream (half-close: sending still
  // works), -errno when the connection broke (ECONNRESET and the like). At most once, and never after
  // close().
  virtual void receive_ended(std::int64_t result) noexcept = 0;
  // Completes one send(): the number of its bytes, always all of them, or -errno; -ECANCELED when close()
  // ended it early. The bytes may be reused from here on. After an error no further send is possible.
  virtual void sent(std::int64_t result) noexcept = 0;
  // With duplex::watch_hangup(), while receiving is paused: the peer has ended its side or the connection has
  // broken, although received bytes may wait. Possibly several times; receive_ended() follows in its order.
  virtual void hung_up() noexcept {}
  // duplex::memory_bytes() has changed because bytes arrived or left while receiving is paused, which no
  // other callback reports.
  virtual void memory_changed() noexcept {}
  // Confirms close(), exactly once; this is the last callback.
  virtual void closed() noexcept = 0;

 protected:
  ~duplex_sink() = default;
};

// For operators. Absent or empty where there is no socket, and no TLS.
struct connection_details {
  runtime_internal::socket_options socket;
  std::string local_certificate;  // DER
};

// Lives on one loop; only that loop's thread may use it. A duplex that was never started may be destroyed at
// any time, which closes the connection; a started one only after closed().
class duplex {
 public:
  using piece = runtime_internal::operation::piece;  // data, size

  duplex(const duplex&) = delete;
  duplex& operator=(const duplex&) = delete;
  virtual ~duplex() = default;

  // Begins to receive; call it once. The sink must stay alive until closed(). Throws std::bad_alloc, and then
  // has not begun.
  virtual void start(duplex_sink& sink) = 0;

  // Adds what the stream knows of itself beyond its addresses. Asks the kernel; not after close().
  virtual void describe(connection_details& /*to*/) const {}

  // Whether bytes reach the peer: false until a handshake has ended. Data that is sent before waits.
  [[nodiscard]] virtual bool established() const noexcept { return true; }

  // Backpressure: between pause_receive() and resume_receive() neither received() nor receive_ended() is
  // called. What the peer sends meanwhile waits in the kernel (or in a bounded buffer) until flow control
  // stops the peer. Idempotent, and allowed at any time after start().
  virtual void pause_receive() noexcept = 0;
  virtual void resume_receive() noexcept = 0;

  // From now on hung_up() tells the end of the peer during a pause, as far as the kernel knows it: an end
  // behind bytes for which its buffers have no room is not known. Has no effect on streams that are no
  // sockets. Call it while receiving is not paused.
  virtual void watch_hangup() noexcept {}

  // Sends all bytes, or fails. At most one send may be in flight: wait for sent() before the next. The bytes,
  // and the array of pieces, must stay in place until then. Returns false, and sent() does not follow, after
  // shutdown_send() or close(). Calling it while sending() is a bug of the caller.
  virtual bool send(std::span<const piece> pieces) noexcept = 0;
  bool send(bytes_view bytes) noexcept {
    if (!sending()) one_ = {bytes.data(), bytes.size()};  // else send() rejects the call or aborts
    return send(std::span<const piece>(&one_, 1));
  }
  [[nodiscard]] virtual bool sending() const noexcept = 0;

  // Ends the stream to the peer after the send in flight. The other direction stays open.
  virtual void shutdown_send() noexcept = 0;

  // Cancels what is in flight, waits for its end (sent() reports the end of a send), closes the connection,
  // then calls closed(). received() and receive_ended() are not called any more. `abort` resets the
  // connection, so that the peer learns that the stream is incomplete. The sequence for a graceful end, in
  // which everything sent arrives, is: sent(), shutdown_send(), receive_ended(0), close(). Idempotent; a
  // later abort does not change an earlier close.
  virtual void close(bool abort = false) noexcept = 0;

  // Breaks the connection when data that was sent stays unacknowledged for `after` (TCP_USER_TIMEOUT). Has no
  // effect without TCP. Call it before start().
  virtual void set_unacknowledged_timeout(duration /*after*/) noexcept {}

  // Releases memory that is kept for reuse, because the connection is idle. No send may be in flight.
  virtual void release_idle_memory() noexcept {}

  // The approximate memory in bytes that the duplex holds on behalf of its peer, beyond the object itself;
  // for memory accounting. Cheap; 0 where nothing is held.
  [[nodiscard]] virtual std::size_t memory_bytes() const noexcept { return 0; }

  // Return address() in memory, and after the end for what was not asked for before: the first call of each
  // asks the kernel.
  [[nodiscard]] virtual const address& peer_address() const noexcept = 0;
  [[nodiscard]] virtual const address& local_address() const noexcept = 0;

  // Reads both addresses into `local` and `peer` without keeping them, for what happens once per connection.
  virtual void read_addresses(address& local, address& peer) const noexcept {
    local = local_address();
    peer = peer_address();
  }

  // The identity of the peer and how it was verified: null in plaintext and before the handshake has ended.
  // Available when the first received() is called. Valid as long as the duplex.
  [[nodiscard]] virtual const auth_context* auth() const noexcept { return nullptr; }
  // Client, after the handshake: whether requests for this host, a name or an IP address, may be sent to the
  // peer as well: false if the peer has proved its name by a certificate that does not have this one.
  [[nodiscard]] virtual bool covers(std::string_view /*host*/) const noexcept { return true; }
  // How the handshake of a secured byte stream ended; empty in plaintext and before the end.
  [[nodiscard]] virtual handshake_end handshake() const noexcept { return {}; }
  // Why receiving or sending ended with an error, where an error number does not tell; else empty. Valid from
  // the error until the duplex is destroyed.
  [[nodiscard]] virtual std::string_view end_reason() const noexcept { return {}; }

  // What those who have accepted the connection attach to it, to find it again when calls arrive. They alone
  // know what it is; null: nothing.
  void mark(std::shared_ptr<const void> with) noexcept { mark_ = std::move(with); }
  [[nodiscard]] const std::shared_ptr<const void>& mark() const noexcept { return mark_; }

 protected:
  duplex() noexcept = default;

 private:
  std::shared_ptr<const void> mark_;
  piece one_{};
};

}  // namespace coracle::net
