// byte_stream: a connection of the user's own making.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <memory>

namespace coracle::net {

class stream;
class byte_stream_of_socket;

/// The two byte streams of a connection, as coroutines that a user implements: a socket with a prologue
/// (SOCKS, PROXY protocol), a pipe of another library, a wrapper of another byte_stream. A coracle::connector
/// returns it, and the library runs HTTP/2, or TLS and HTTP/2, over it.
///
/// It lives on one loop, on which the library calls it and destroys it. At most one read() is in flight, and
/// at most one of write() and shutdown_send(); a read and a write may be in flight at the same time. A
/// function may throw, which ends the connection like an error status, except where it is noexcept.
///
/// To close the connection, the library requests the operations in flight to stop (the stop token of their
/// environment), waits until they have ended, calls close() and destroys the object. An operation that
/// neither ends nor obeys the token therefore keeps the connection, its channel and its runtime from ending.
class byte_stream {
 public:
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;
  virtual ~byte_stream() = default;

  /// Reads at least one and at most into.size() bytes, and returns their number: 0 at the end of the peer's
  /// bytes, after which the library reads no more. `into` stays in place until the task ends. An error ends
  /// the connection; its message becomes part of the status of calls. While the library does not read, what
  /// the peer sends must wait somewhere bounded: that is the backpressure.
  virtual task<result<std::size_t>> read(mutable_bytes into) = 0;
  /// Writes all of `bytes`, which stay in place until the task ends, or returns an error, after which the
  /// library writes no more. It ends when further bytes may be written: the library sends more only then.
  virtual task<status> write(bytes_view bytes) = 0;
  /// Ends the bytes to the peer, which reads those that were written and then the end. read() continues to
  /// work. Called at most once, after the last write().
  virtual task<status> shutdown_send() = 0;
  /// Closes the connection. Called exactly once, when no operation is in flight. With `abort` the peer is to
  /// see an error instead of an end, if the connection can express that.
  virtual void close(bool abort) noexcept = 0;

  /// @{
  /// The addresses that interceptors, observers and channelz show. Called once, before the first operation.
  /// Default: no address.
  [[nodiscard]] virtual address peer_address() const { return {}; }
  [[nodiscard]] virtual address local_address() const { return {}; }
  /// @}

 protected:
  byte_stream() noexcept = default;

 private:
  friend class byte_stream_of_socket;
  // Of what to_byte_stream() returns. Not found by a dynamic_cast: a user's class may have been compiled
  // without run-time type information.
  bool of_socket_ = false;
};

/// Makes a byte_stream of an open stream, for a connector that connects it and then leaves the rest to the
/// library. Costs nothing: the library takes the socket out of it and uses it as its own connections.
/// Throws usage_error if `s` is closed or was moved from.
[[nodiscard]] std::unique_ptr<byte_stream> to_byte_stream(stream s);

}  // namespace coracle::net
