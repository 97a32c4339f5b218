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

namespace coracle::net {

class open_stream;  // private: a handle and its operations in flight
class stream;
task<result<stream>> connect(std::vector<address> to);  // coracle/net/connect.hpp

// What stream::read() and write() give: await it once. It makes no coroutine; it may be moved, and given to
// with_timeout(), when_any() and the like. It refers to the stream and the bytes.
class [[nodiscard]] stream_read {
 public:
  stream_read(open_stream& s, mutable_bytes into) noexcept : stream_(&s), into_(into) {}
  [[nodiscard]] bool await_ready() const noexcept { return into_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  result<std::size_t> await_resume();

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e);
  open_stream* stream_;
  mutable_bytes into_;
};

class [[nodiscard]] stream_write {
 public:
  stream_write(open_stream& s, bytes_view bytes) noexcept : stream_(&s), bytes_(bytes) {}
  [[nodiscard]] bool await_ready() const noexcept { return bytes_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  status await_resume();

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e);
  open_stream* stream_;
  bytes_view bytes_;
};

// Lives on the loop it was made on; all of it is for that loop's coroutines. One read and one write may
// wait at a time, beside each other. The stream must outlive both; a moved-from stream may only be
// destroyed or assigned to.
//
// Every wait ends early when the awaiter's environment says so, and only once the kernel has let go of the
// bytes: CANCELLED on a stop, DEADLINE_EXCEEDED when the environment's deadline has passed. A connection
// that broke is UNAVAILABLE.
class stream {
 public:
  stream() noexcept;
  stream(stream&&) noexcept;
  stream& operator=(stream&&) noexcept;
  // Closes, if close() was not called. No operation may be waiting.
  ~stream();

  // Connects from the current loop. UNAVAILABLE when nobody listens there or it cannot be reached.
  static task<result<stream>> connect(address to);

  // At least one byte, at most into.size(); 0 when the peer has ended its side. The bytes of `into` must stay
  // in place until the await ends. A read that ends early has taken nothing.
  stream_read read(mutable_bytes into);
  // All of the bytes; they must stay in place until the await ends. After a write that fails or ends early
  // nobody knows how much has left: only close() makes sense then.
  stream_write write(bytes_view bytes);

  // Ends the direction to the peer, who reads the rest and then 0. Reading goes on.
  void shutdown_send() noexcept;
  // Gives the connection up: nothing may be waiting. `abort` resets it, so that the peer sees an error.
  void close(bool abort = false) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return open_ != nullptr; }
  // Of an open stream.
  [[nodiscard]] const address& local_address() const noexcept;
  [[nodiscard]] const address& peer_address() const noexcept;

 private:
  friend class listener;
  friend task<result<stream>> connect(std::vector<address> to);
  explicit stream(std::unique_ptr<open_stream> opened) noexcept;
  std::unique_ptr<open_stream> open_;
};

}  // namespace coracle::net
