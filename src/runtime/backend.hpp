// backend: what a loop needs from the world: completions of I/O, time, randomness and a way to be woken.
// The room is `runtime`; its namespace is coracle::runtime_internal, since coracle::runtime is the class that users own.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::runtime_internal {

// A descriptor of the backend's world: the kernel's on `uring` and `epoll`, a simulated one in `sim`.
using handle = int;
inline constexpr handle no_handle = -1;

// A socket address as the kernel encodes it (sockaddr_in, _in6, _un), without its headers.
struct raw_address {
  std::uint32_t size = 0;
  alignas(8) std::uint8_t bytes[128] = {};
};

struct file_request;  // file_request.hpp

// One I/O operation. Intrusive: lives in its owner (mostly a coroutine frame) from submit() until
// `complete` was called, which happens exactly once, on the loop's thread, never inside submit().
struct operation {
  enum class kind : std::uint8_t {
    connect,  // address
    send,  // pieces: all of them are sent or the operation fails
    receive,  // into: at most its size, at least 1 byte, 0 at the end of the stream
    accept,  // one connection
    poll_in,  // until readable: 0
    poll_out,  // until writable: 0
    send_to,  // pieces: one datagram, to `address` or to the peer that was fixed
    receive_from,  // into: one datagram; its size, which is more than into.size() when it was cut
    file,  // what `file` asks for; only where takes_files()
  };
  struct piece {
    const void* data;
    std::size_t size;
  };
  // What a send or a receive of one connection among many touches comes first, to lie in few cache lines.
  mutable_bytes into;
  const piece* pieces = nullptr;
  std::size_t piece_count = 0;
  handle on = no_handle;
  kind what{};
  // send, receive: a pipe, a terminal or the like; -ENOTSOCK tells where it is not said
  bool no_socket = false;
  // >= 0: bytes, or the accepted handle; < 0: -errno, -ECANCELED after cancel().
  void (*complete)(operation&, std::int64_t result) noexcept = nullptr;

  // The backend's, while the operation is in flight.
  operation* next = nullptr;
  operation* prev = nullptr;
  std::uint64_t scratch[16];  // not initialised: submit() does what it needs

  const raw_address* address = nullptr;
  raw_address* sender = nullptr;  // receive_from: filled in
  const file_request* file = nullptr;
};

// A listener's stream of new connections. Lives until ended() was called.
class accept_source {
 public:
  // A new, non-blocking handle, now the callee's.
  virtual void accepted(handle connection) noexcept = 0;
  // No more will come: -errno, -ECANCELED after stop(). Not called for faults of one connection
  // (ECONNABORTED) nor for exhaustion (EMFILE, ENFILE, ENOMEM, ENOBUFS): the backend logs those, rests
  // for `accept_rest`, and goes on, so that they neither spin nor end the listener.
  virtual void ended(std::int64_t error) noexcept = 0;
  void* state = nullptr;  // the backend's

 protected:
  ~accept_source() = default;
};

// The incoming bytes of one connection, in the backend's own buffers. Lives until ended() was called.
class receive_source {
 public:
  // Borrowed for the duration of the call only: copy what must stay. The backend reuses the buffer afterwards.
  virtual void received(bytes_view bytes) noexcept = 0;
  // The end: 0 for the peer's half-close, -errno otherwise, -ECANCELED after stop(). Exactly once.
  virtual void ended(std::int64_t result) noexcept = 0;
  // backend::held_bytes() has changed.
  virtual void held_changed() noexcept {}
  void* state = nullptr;  // the backend's

 protected:
  ~receive_source() = default;
};

struct listen_options {
  int backlog = 1024;
  bool reuse_port = false;
  bool only_ipv6 = false;
};

// How long a listener rests after the process ran out of descriptors or memory.
inline constexpr duration accept_rest = std::chrono::milliseconds(50);

struct name_answer;  // runtime/name_answer.hpp

struct counters {
  std::uint64_t turns = 0;
  std::uint64_t system_calls = 0;
  std::uint64_t submissions = 0;
  std::uint64_t completions = 0;
  // The ledger: operations and sources between their start and their last callback.
  std::uint64_t in_flight = 0;
};

class stall_detector;

// Everything but wake() is for the loop's thread only.
class backend {
 public:
  virtual ~backend() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // Single operations.
  virtual void submit(operation& op) noexcept = 0;
  // The same, but what can be done at once may be: then its result is given, and `complete` is not called. A
  // coroutine gets that a few times in a row only, so that it cannot keep the loop to itself.
  virtual std::optional<std::int64_t> perform_or_submit(operation& op) noexcept {
    submit(op);
    return std::nullopt;
  }
  // Asks for an early end; `complete` still comes, with -ECANCELED or with what had happened already.
  virtual void cancel(operation& op) noexcept = 0;

  // Multishot sources. No event is delivered between pause_receive() and resume_receive() (the
  // kernel's window closes by itself then); stop_*() is followed by one ended(-ECANCELED).
  // Starting throws std::bad_alloc, and has started nothing.
  virtual void start_accept(handle listener, accept_source& source) = 0;
  virtual void stop_accept(accept_source& source) noexcept = 0;
  virtual void start_receive(handle connection, receive_source& source) = 0;
  virtual void pause_receive(receive_source& source) noexcept = 0;
  virtual void resume_receive(receive_source& source) noexcept = 0;
  virtual void stop_receive(receive_source& source) noexcept = 0;
  // What came during a pause and is kept in the process, where the backend cannot leave it in the kernel.
  [[nodiscard]] virtual std::size_t held_bytes(const receive_source&) const noexcept { return 0; }

  // Descriptors. None of these block. Errors are -errno.
  virtual std::int64_t open_stream(
      int family) noexcept = 0;  // a non-blocking stream socket; TCP_NODELAY where it applies
  // Any thread, while the loop runs: servers listen from where their programs set them up.
  virtual std::int64_t open_listener(const raw_address& at, const listen_options& options) noexcept = 0;
  // A datagram socket that is bound to `at`; of the options, all but the backlog.
  virtual std::int64_t open_datagram(const raw_address& at, const listen_options& options) noexcept = 0;
  // Fixes its peer: datagrams of others are passed over, and send_to does without an address.
  virtual std::int64_t connect_datagram(handle h, const raw_address& to) noexcept = 0;
  virtual std::int64_t local_address(handle h, raw_address& out) noexcept = 0;
  virtual std::int64_t peer_address(handle h, raw_address& out) noexcept = 0;
  // A connection whose peer has not acknowledged what was sent `after` so long ends (TCP_USER_TIMEOUT). Nothing where
  // there is no TCP.
  virtual void give_up_unacknowledged(handle, duration /*after*/) noexcept {}
  virtual void shutdown_send(handle h) noexcept = 0;  // FIN after what was sent
  // No operation and no source may be in flight on h. abort: RST instead of FIN, where there is such a thing.
  virtual void close(handle h, bool abort = false) noexcept = 0;

  // Descriptors that came from elsewhere (stdin) have a place on the kernel's backends only; pipes on all.
  [[nodiscard]] virtual bool takes_descriptors() const noexcept { return true; }
  [[nodiscard]] virtual bool is_disk_file(handle h) noexcept;
  virtual std::int64_t open_pipe(handle (&ends)[2]) noexcept;  // to read from, to write to
  // As before a close, for a handle that lives on elsewhere: nothing of it is kept. Nothing may be in flight on it.
  virtual void forget(handle) noexcept {}

  // A listening stream socket that somebody else has opened: a handle of our own to it, which is closed after
  // forget(), for the socket lives on. -ENOTSOCK, -EPROTOTYPE (no stream), -EINVAL (it does not listen) or -EAFNOSUPPORT.
  // Only where takes_descriptors(). Default: the kernel's.
  virtual std::int64_t adopt_listener(int descriptor) noexcept;

  // Files of UNIX sockets. The first removes one that nobody listens behind: 0 when the path is free
  // now, -EADDRINUSE when somebody does listen, -EEXIST when it is no socket. Defaults: the kernel's.
  virtual std::int64_t remove_stale_path(const raw_address& at) noexcept;
  virtual void remove_path(const raw_address& at) noexcept;

  // Files of any kind are the kernel's on all backends. Where submit() does not take operations of kind `file`,
  // perform_file() does them, blocking, on any thread; its result is what `complete` would be given.
  [[nodiscard]] virtual bool takes_files() const noexcept { return false; }
  virtual std::int64_t perform_file(operation& op) noexcept;
  virtual void close_file(handle h) noexcept;
  // False for pipes, terminals and sockets. io_uring would read them, whatever the offset.
  [[nodiscard]] virtual bool has_positions(handle h) noexcept;

  // A handle that can be polled for reading when one of `set` (bits 1 << process_signal) has come since it
  // was opened; taking them clears it. The process's own disposition is back once the last was closed.
  // Defaults: the kernel's.
  virtual std::int64_t open_signals(std::uint32_t set) noexcept;
  virtual std::uint32_t take_signals(handle h) noexcept;
  virtual void close_signals(handle h) noexcept;

  // Asks the names of this backend's world. False, and nothing is written, where it has none of its own: the
  // name servers of the machine are asked then, which is the room net's business.
  virtual bool look_up(std::string_view name, name_answer& out);

  // Submits what is queued, waits until something completes, wake() is called or `until` has come
  // (time_point::min(): does not wait), and delivers completions. At most one waiting system call,
  // which a signal may cut short.
  virtual void turn(time_point until) noexcept = 0;
  // Ends a turn() that waits, or the next one. Any thread.
  virtual void wake() noexcept = 0;
  // The thread that called turn() so far lets go; the next turn() may come on another one. What is in
  // flight stays so: a backend that is bound to its thread takes it up again by itself.
  virtual void leave() noexcept {}
  // Readable when turn() would have something to do, for a foreign event loop; arm it with the
  // loop's next deadline before handing it out. -1 where there is none (sim).
  [[nodiscard]] virtual int pollable(time_point next_deadline) noexcept = 0;

  [[nodiscard]] virtual time_point now() noexcept = 0;
  // Wall-clock nanoseconds since 1970, for logs and certificates.
  [[nodiscard]] virtual std::int64_t wall_ns() noexcept = 0;
  // Random bits; drawn from the seed in sim. Not for keys.
  [[nodiscard]] virtual std::uint64_t random() noexcept = 0;
  [[nodiscard]] virtual const counters& counted() const noexcept = 0;

  // Who measures the calls back; null: nobody. Before the first turn.
  void report_stalls_to(stall_detector* d) noexcept { stalls_ = d; }

 protected:
  stall_detector* stalls_ = nullptr;
};

}  // namespace coracle::runtime_internal
