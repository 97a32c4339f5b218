// stream: a TCP or UNIX connection for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <coroutine>
#include <cstddef>
#include <memory>
#include <vector>

namespace coracle {
class loop;
}

namespace coracle::net {

class open_stream;  // private: a handle and its operations in flight
class stream;
task<result<stream>> connect(std::vector<address> to);  // coracle/net/connect.hpp

/// The awaitable that stream::read() returns: await it once. Allocates no coroutine frame. It may be moved,
/// and passed to with_timeout(), when_any() and the like. It refers to the stream and to the bytes.
class [[nodiscard]] stream_read {
 public:
  /// @cond
  stream_read(open_stream& s, mutable_bytes into) noexcept : stream_(&s), into_(into) {}
  [[nodiscard]] bool await_ready() const noexcept { return into_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  result<std::size_t> await_resume();
  /// @endcond

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e);
  open_stream* stream_;
  mutable_bytes into_;
};

/// The awaitable that stream::write() returns, with the rules of stream_read.
class [[nodiscard]] stream_write {
 public:
  /// @cond
  stream_write(open_stream& s, bytes_view bytes) noexcept : stream_(&s), bytes_(bytes) {}
  [[nodiscard]] bool await_ready() const noexcept { return bytes_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  status await_resume();
  /// @endcond

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e);
  open_stream* stream_;
  bytes_view bytes_;
};

/// A TCP or UNIX connection. Lives on the loop on which it was made, until move_to() moves it to another
/// loop; only coroutines of that loop may use it. At most one read and one write may be in flight, also at
/// the same time. The stream must outlive both. A moved-from stream may only be destroyed or assigned to.
///
/// Every operation ends early when the awaiter's environment requires it, and only after the kernel no longer
/// uses the bytes: with CANCELLED on a stop, with DEADLINE_EXCEEDED when the environment's deadline has
/// passed. A broken connection is reported as UNAVAILABLE.
class stream {
 public:
  /// Makes a closed stream.
  stream() noexcept;
  stream(stream&&) noexcept;
  stream& operator=(stream&&) noexcept;
  /// Closes the stream if close() was not called. No operation may be in flight.
  ~stream();

  /// Connects to `to` from the current loop. Fails with UNAVAILABLE when no process listens there or the
  /// address is unreachable.
  static task<result<stream>> connect(address to);

  /// Makes a stream of a connected TCP or UNIX socket that the program has: from socketpair(), accept(),
  /// another library or another process. The stream owns the descriptor, makes it non-blocking and closes it;
  /// the current loop is its owner loop. Fails with INVALID_ARGUMENT if it is not such a socket, and with
  /// UNIMPLEMENTED in a simulation; the descriptor then stays the caller's. Throws std::bad_alloc, which
  /// leaves it the caller's, too.
  static result<stream> adopt(int descriptor);

  /// Reads at least one and at most into.size() bytes, and returns their number: 0 after the peer has closed
  /// its sending direction. The bytes of `into` must stay in place until the await ends. A read that ends
  /// early has consumed nothing.
  stream_read read(mutable_bytes into);
  /// Writes all of `bytes`, which must stay in place until the await ends. After a write that fails or ends
  /// early it is unknown how much was sent, and only close() is useful.
  stream_write write(bytes_view bytes);

  /// Moves the connection to the loop `where` of the same runtime, so that a program can accept connections
  /// on one loop and serve them on all:
  ///
  ///     loop& where = runtime.next();
  ///     connection.move_to(where);
  ///     runtime.spawn_on(where, serve(std::move(connection)));
  ///
  /// Call it on the owner loop, with no read and no write in flight. From then on `where` is the owner loop.
  /// Nothing is lost: bytes that have arrived stay in the kernel until the next read(). Until that, the
  /// stream may also be destroyed, or moved again, on any loop of the runtime. Throws usage_error, and
  /// changes nothing, on another loop, while an operation is in flight, if the stream is closed, or if
  /// `where` belongs to another runtime. Throws std::bad_alloc, and changes nothing.
  void move_to(loop& where);

  /// Closes the sending direction: the peer reads the remaining bytes, then the end. Reading continues to
  /// work.
  void shutdown_send() noexcept;
  /// Closes the connection. No operation may be in flight. With `abort` the connection is reset, so that the
  /// peer sees an error.
  void close(bool abort = false) noexcept;

  /// Returns whether the stream is open on this side.
  [[nodiscard]] bool is_open() const noexcept { return open_ != nullptr; }
  /// Returns the local address of an open stream.
  [[nodiscard]] const address& local_address() const noexcept;
  /// Returns the peer's address of an open stream.
  [[nodiscard]] const address& peer_address() const noexcept;

 private:
  friend class listener;
  friend class byte_stream_of_socket;  // private: src/net/byte_stream_duplex.cpp
  friend task<result<stream>> connect(std::vector<address> to);
  explicit stream(std::unique_ptr<open_stream> opened) noexcept;
  std::unique_ptr<open_stream> open_;
};

}  // namespace coracle::net
