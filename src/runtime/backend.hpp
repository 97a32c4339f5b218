// backend: the interface between a loop and the world: completions of I/O, time, randomness and wake-ups. The
// module is `runtime`; its namespace is coracle::runtime_internal, because users have the class
// coracle::runtime.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "runtime/socket_options.hpp"
#include "runtime/tcp_statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace coracle::runtime_internal {

// A descriptor of the backend's world: of the kernel in `uring` and `epoll`, a simulated one in `sim`.
using handle = int;
inline constexpr handle no_handle = -1;

// A socket address as the kernel encodes it (sockaddr_in, _in6, _un), without its headers.
struct raw_address {
  std::uint32_t size = 0;
  alignas(8) std::uint8_t bytes[128] = {};
};

// The parameters of an operation of kind `file`. Lives in its owner as long as the operation that points to
// it. The result is that of the system call of this name: the new handle, a number of bytes, 0, or -errno. A
// short read or write is not continued here.
struct file_request {
  enum class action : std::uint8_t {
    open,  // path, flags, permissions
    read,  // on, into, offset
    write,  // on, pieces (one), offset
    sync,  // on
    sync_data,  // on: omits times and other metadata that reading does not need
    size,  // on; into: file_size_room bytes, which the backend uses
  };
  action type{};
  std::uint64_t offset = 0;
  const char* path = nullptr;
  int flags = 0;  // as in open(2)
  unsigned permissions = 0;
};

// The descriptor's own position, which other processes may share.
inline constexpr std::uint64_t current_position = ~std::uint64_t{0};
inline constexpr std::size_t file_size_room = 256;

// One I/O operation. Intrusive: it lives in its owner (mostly a coroutine frame) from submit() until
// `complete` is called, which happens exactly once, on the loop's thread, never inside submit().
struct operation {
  enum class kind : std::uint8_t {
    connect,  // address
    send,  // pieces: all of them are sent, or the operation fails
    receive,  // into: at least 1 byte, at most its size; 0 at the end of the stream
    accept,  // returns one connection
    poll_in,  // waits until readable; 0
    poll_out,  // waits until writable; 0
    send_to,  // pieces: one datagram, to `address` or to the peer that was set
    receive_from,  // into: one datagram; its size, more than into.size() if it was truncated
    file,  // what `file` requests; only where takes_files()
  };
  struct piece {
    const void* data;
    std::size_t size;
  };
  // Members that a send or receive uses come first, to occupy few cache lines when there are many
  // connections.
  mutable_bytes into;
  const piece* pieces = nullptr;
  std::size_t piece_count = 0;
  handle on = no_handle;
  kind type{};
  // send, receive: `on` is a pipe, a terminal or the like. Without this flag the backend learns it from the
  // kernel's ENOTSOCK.
  bool no_socket = false;
  // result >= 0: bytes, or the accepted handle; result < 0: -errno, -ECANCELED after cancel().
  void (*complete)(operation&, std::int64_t result) noexcept = nullptr;

  // Used by the backend while the operation is in flight.
  operation* next = nullptr;
  operation* prev = nullptr;
  std::uint64_t scratch[16];  // not initialised: submit() initialises what it needs

  const raw_address* address = nullptr;
  raw_address* sender = nullptr;  // receive_from: filled in by the backend
  const file_request* file = nullptr;
};

// Receives the new connections of a listener. Must stay alive until ended() was called.
class accept_source {
 public:
  // Passes a new, non-blocking handle, which the callee now owns.
  virtual void accepted(handle connection) noexcept = 0;
  // Reports that no more connections will come: -errno, -ECANCELED after stop_accept(). Connections that were
  // accepted before the stop are passed on first. Not called for errors
  // of a single connection (ECONNABORTED) or for exhaustion (EMFILE, ENFILE, ENOMEM, ENOBUFS): the backend
  // logs exhaustion, pauses for `accept_pause_time` and continues, so that these errors neither spin nor end
  // the listener.
  virtual void ended(std::int64_t error) noexcept = 0;
  void* state = nullptr;  // used by the backend

 protected:
  ~accept_source() = default;
};

// Receives the bytes of one connection, in the backend's own buffers. Must stay alive until ended() was
// called.
class receive_source {
 public:
  // The bytes are borrowed for the duration of the call: the backend reuses the buffer afterwards.
  virtual void received(bytes_view bytes) noexcept = 0;
  // Reports the end, exactly once: 0 for the peer's half-close, -ECANCELED after stop_receive(), another
  // -errno otherwise.
  virtual void ended(std::int64_t result) noexcept = 0;
  // Reports that backend::held_bytes() has changed.
  virtual void held_changed() noexcept {}
  // With watches_hangup, during a pause: the peer has ended its side or the connection has broken, although
  // bytes may wait that were not received. Possibly several times. A peer whose last bytes do not fit into
  // the kernel's buffer is not noticed: its end is behind them.
  virtual void hung_up() noexcept {}
  bool watches_hangup = false;  // changed outside of pauses
  void* state = nullptr;  // used by the backend

 protected:
  ~receive_source() = default;
};

struct listen_options {
  int backlog = 1024;
  bool reuse_port = false;
  bool only_ipv6 = false;
};

// The pause of a listener after the process ran out of descriptors or memory.
inline constexpr duration accept_pause_time = std::chrono::milliseconds(50);

// The result of a name lookup in a backend whose world has names of its own.
struct name_answer {
  enum class outcome : std::uint8_t { found, no_such_name, failed };
  outcome result = outcome::no_such_name;
  duration after{};  // how long the answer takes to arrive
  std::vector<raw_address> addresses;  // in the order in which to try them, with port 0
};

struct counters {
  std::uint64_t turns = 0;
  std::uint64_t system_calls = 0;
  std::uint64_t submissions = 0;
  std::uint64_t completions = 0;
  // For bookkeeping: operations and sources between their start and their last callback.
  std::uint64_t in_flight = 0;
};

class stall_detector;

// Only wake() and the functions that say so may be called by other threads than the loop's.
class backend {
 public:
  virtual ~backend() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // --- single operations
  virtual void submit(operation& op) noexcept = 0;
  // Like submit(), but may perform at once an operation that need not wait: then it returns the result, and
  // does not call `complete`. It does so only a few times in a row, so that a coroutine cannot monopolise the
  // loop.
  virtual std::optional<std::int64_t> perform_or_submit(operation& op) noexcept {
    submit(op);
    return std::nullopt;
  }
  // Cancels the operation; `complete` is still called, with -ECANCELED or with the result of what already
  // happened.
  virtual void cancel(operation& op) noexcept = 0;

  // Multishot sources. Neither bytes nor the end are delivered between pause_receive() and resume_receive();
  // the kernel's window closes meanwhile. One ended(-ECANCELED) follows stop_*(). The start functions throw
  // std::bad_alloc, and then have started nothing.
  virtual void start_accept(handle listener, accept_source& source) = 0;
  virtual void stop_accept(accept_source& source) noexcept = 0;
  virtual void start_receive(handle connection, receive_source& source) = 0;
  virtual void pause_receive(receive_source& source) noexcept = 0;
  virtual void resume_receive(receive_source& source) noexcept = 0;
  virtual void stop_receive(receive_source& source) noexcept = 0;
  // The number of bytes that arrived during a pause and are held in the process, where the backend cannot
  // leave them in the kernel.
  [[nodiscard]] virtual std::size_t held_bytes(const receive_source&) const noexcept { return 0; }

  // Accepts one of the connections that wait in the kernel's queue of a listener on which no source or
  // operation is in flight: a new handle, -EAGAIN if none waits, or another -errno. Does not wait.
  virtual std::int64_t accept_now(handle listener) noexcept;
  // From now on, nothing is added to the queue of a listener that is about to be closed: packets for it are
  // dropped, and clients repeat those that open a connection. Concerns every descriptor of the socket. Has no
  // effect without TCP.
  virtual void close_queue(handle /*listener*/) noexcept {}
  // Undoes close_queue(), which another process may have called.
  virtual void open_queue(handle /*listener*/) noexcept {}

  // Descriptors. None of these functions block. They return errors as -errno.
  virtual std::int64_t open_stream(
      int family) noexcept = 0;  // a non-blocking stream socket; TCP_NODELAY where it applies
  // Binds a socket of open_stream() to a local address before it connects; with port 0 any free port.
  virtual std::int64_t bind_stream(handle h, const raw_address& at) noexcept = 0;
  // Any thread, while the loop runs: a server may listen from the thread that sets it up.
  virtual std::int64_t open_listener(const raw_address& at, const listen_options& options) noexcept = 0;
  // Opens a datagram socket that is bound to `at`. All options but the backlog apply.
  virtual std::int64_t open_datagram(const raw_address& at, const listen_options& options) noexcept = 0;
  // Sets the peer: datagrams from other senders are ignored, and send_to needs no address.
  virtual std::int64_t connect_datagram(handle h, const raw_address& to) noexcept = 0;
  virtual std::int64_t local_address(handle h, raw_address& out) noexcept = 0;
  virtual std::int64_t peer_address(handle h, raw_address& out) noexcept = 0;
  // Breaks a connection whose peer leaves sent data unacknowledged for this time (TCP_USER_TIMEOUT). Has no
  // effect without TCP.
  virtual void set_unacknowledged_timeout(handle, duration /*after*/) noexcept {}
  // A few system calls. Empty where there is no kernel.
  [[nodiscard]] virtual socket_options options_of(handle) noexcept { return {}; }
  // A system call. Nothing where there is no kernel, or no TCP.
  [[nodiscard]] virtual std::optional<tcp_statistics> tcp_statistics_of(handle) noexcept { return {}; }
  virtual void shutdown_send(handle h) noexcept = 0;  // sends FIN after the data
  // Closes h. No operation and no source may be in flight on it. `abort` sends RST instead of FIN, where that
  // exists.
  virtual void close(handle h, bool abort = false) noexcept = 0;

  // Whether the backend accepts descriptors from outside, such as stdin: only the kernel backends do. All
  // backends have pipes.
  [[nodiscard]] virtual bool takes_descriptors() const noexcept { return true; }
  [[nodiscard]] virtual bool is_disk_file(handle h) noexcept;
  virtual std::int64_t open_pipe(handle (&ends)[2]) noexcept;  // the end to read from, the end to write to
  // Discards the state that the backend keeps about a handle that stays open elsewhere, as a close would. No
  // operation may be in flight on it.
  virtual void forget(handle) noexcept {}

  // Adopts a listening stream socket that was opened outside: returns a new handle to it. Call forget()
  // before closing that handle, because the socket stays open. Fails with -ENOTSOCK, -EPROTOTYPE (not a
  // stream), -EINVAL (not listening) or -EAFNOSUPPORT. Available only where takes_descriptors(). The default
  // is the kernel's implementation.
  virtual std::int64_t adopt_listener(int descriptor) noexcept;
  // Adopts a connected stream socket that was opened outside: returns its handle, which is the descriptor
  // itself. Fails as adopt_listener(), with -ENOTCONN in place of -EINVAL. Available only where
  // takes_descriptors(). Any thread. The default is the kernel's implementation.
  virtual std::int64_t adopt_stream(int descriptor) noexcept;

  // Files of UNIX sockets. remove_stale_path() removes a file on which no process listens: it returns 0 when
  // the path is free afterwards, -EADDRINUSE when a process does listen, and -EEXIST when the file is not a
  // socket. The defaults are the kernel's implementation.
  virtual std::int64_t remove_stale_path(const raw_address& at) noexcept;
  virtual void remove_path(const raw_address& at) noexcept;

  // All backends use the kernel's files. Where submit() does not accept operations of kind `file`,
  // perform_file() performs them: it blocks, runs on any thread, and returns the result that `complete` would
  // receive.
  [[nodiscard]] virtual bool takes_files() const noexcept { return false; }
  virtual std::int64_t perform_file(operation& op) noexcept;
  virtual void close_file(handle h) noexcept;
  // False for pipes, terminals and sockets. io_uring would read them, whatever the offset.
  [[nodiscard]] virtual bool has_positions(handle h) noexcept;

  // Opens a handle that polls as readable after one of the signals in `set` (bits 1 << process_signal) has
  // arrived since it was opened; take_signals() clears it. The process's own disposition is restored when the
  // last handle is closed. The defaults are the kernel's implementation.
  virtual std::int64_t open_signals(std::uint32_t set) noexcept;
  virtual std::uint32_t take_signals(handle h) noexcept;
  virtual void close_signals(handle h) noexcept;

  // Looks up a name in the backend's own world. Returns false and writes nothing where there is no such
  // world: the net module then queries the name servers of the machine.
  virtual bool resolve_name(std::string_view name, name_answer& out);

  // Submits what is queued, waits until an operation completes, wake() is called or `until` is reached
  // (time_point::min(): does not wait), and delivers completions. Makes at most one waiting system call,
  // which a signal may end early.
  virtual void turn(time_point until) noexcept = 0;
  // Ends the turn() that waits, or else the next one. Any thread.
  virtual void wake() noexcept = 0;
  // Releases the thread that has called turn() so far; the next turn() may come from another thread.
  // Operations stay in flight: a backend that is bound to its thread restarts them by itself.
  virtual void release_thread() noexcept {}
  // A descriptor that polls as readable when turn() has something to do, for use in another event loop. Arms
  // it with the loop's next deadline. Returns -1 where there is no descriptor (sim).
  [[nodiscard]] virtual int pollable(time_point next_deadline) noexcept = 0;

  [[nodiscard]] virtual time_point now() noexcept = 0;
  // Wall-clock nanoseconds since 1970, for logs and certificates.
  [[nodiscard]] virtual std::int64_t wall_ns() noexcept = 0;
  // Returns random bits, drawn from the seed in sim. Not for cryptographic keys.
  [[nodiscard]] virtual std::uint64_t random() noexcept = 0;
  [[nodiscard]] virtual const counters& stats() const noexcept = 0;

  // Sets the detector that measures callbacks; null disables it. Call it before the first turn.
  void report_stalls_to(stall_detector* d) noexcept { stalls_ = d; }

  // When the last turn() that waited began its wait, if it had to read the clock for it. Else earlier.
  [[nodiscard]] time_point wait_began() const noexcept { return wait_began_; }

 protected:
  stall_detector* stalls_ = nullptr;
  time_point wait_began_{};
};

}  // namespace coracle::runtime_internal
