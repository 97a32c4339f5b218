// recorder: what the loops of a runtime did last, in memory and in files.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/connection_snapshot.hpp"
#include "coracle/runtime/process_signal.hpp"
#include "coracle/runtime/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle {

/// What a recorded_event tells.
enum class recorded_kind : std::uint8_t {
  frame,              ///< an HTTP/2 frame was sent or received
  connection_opened,  ///< a connection was accepted or established
  connection_closed,  ///< a connection has ended, for the reason in `text`
  call_began,         ///< server: the headers of a request have arrived. Client: an attempt got its stream
  call_queued,        ///< client: the call waits for a connection
  message,  ///< a message of a stream was sent or received; for unary calls, see their DATA frames
  call_ended,  ///< the call has its status
  long_iteration,  ///< an iteration of the loop took 10 ms or longer
  loop_stalled,  ///< a task occupied the loop for runtime_options::report_stalls or longer
};

/// Returns the name of a type of frames of HTTP/2 (RFC 9113 section 6): "HEADERS". One that HTTP/2 does not
/// have is "type 12".
[[nodiscard]] std::string name_of_frame(std::uint8_t type);

/// One event. Its time is the one at which its loop had last read its clock, at the start of the iteration or
/// when it received what caused the event. A value; its texts are those of the recording.
class recorded_event {
 public:
  /// No event.
  recorded_event() noexcept = default;
  recorded_kind kind = recorded_kind::frame;  ///< decides which of the others have a meaning
  bool sent = false;  ///< frames and messages: whether this side sent it
  bool client = false;  ///< connections and calls: whether this side is the client
  bool compressed = false;  ///< messages
  std::uint8_t frame_type = 0;  ///< RFC 9113 6
  std::uint8_t frame_flags = 0;  ///< RFC 9113 6
  std::uint32_t runtime = 0;  ///< the runtime of the loop, if the process has several; from 0
  std::uint32_t loop = 0;  ///< loop::index()
  wall_time when{};  ///< nanoseconds; see the class
  /// The number of the connection, unique in the process; 0: none.
  std::uint32_t connection = 0;
  /// The stream of HTTP/2; 0 for the connection itself. Calls that are no stream of HTTP/2 have a number with
  /// the highest bit set.
  std::uint32_t stream = 0;
  std::uint32_t call = 0;  ///< client: the number of the call on its loop
  std::uint32_t length = 0;  ///< of a frame's payload, or of a message
  std::uint32_t attempts = 0;  ///< call_began of a client: earlier attempts of the call
  /// The error code of RST_STREAM and GOAWAY, the increment of WINDOW_UPDATE.
  std::optional<std::uint32_t> value;
  status_code status = status_code::ok;  ///< call_ended
  duration time{};  ///< the deadline of call_began (zero: none); how long an iteration took
  std::string_view method;  ///< "/package.Service/Method"; empty if it is not known
  /// connection_opened: the addresses of this side and of the peer with a space between them, "-" for one
  /// that is not IP. connection_closed: the reason. call_began: the path, if it is not registered.
  std::string_view text;
};

/// A call with its events, as far as the recording has them.
class recorded_call {
 public:
  /// No call.
  recorded_call() noexcept = default;
  std::string_view method;  ///< "/package.Service/Method"; empty if it is not known
  bool client = false;  ///< which side it is
  std::uint32_t runtime = 0;  ///< as in recorded_event
  std::uint32_t loop = 0;  ///< as in recorded_event
  std::uint32_t connection = 0;  ///< of the last attempt; 0: it got none
  std::uint32_t stream = 0;  ///< of the last attempt
  wall_time began{};  ///< of the first event
  /// From the first event to the last one: the whole call if it has ended.
  duration took{};
  bool ended = false;  ///< whether `status` is known
  status_code status = status_code::ok;  ///< how it has ended
  std::vector<std::size_t> events;  ///< indexes of recording::events(), in order
};

/// The events of all loops of a runtime or a process. Any thread may use its own object; what refers to its
/// texts must not outlive it, nor be used after it was moved.
class recording {
 public:
  /// Reads what a loop, a crash or a debugger wrote. Fails with DATA_LOSS, and tells where, for bytes that
  /// are no recording, or a damaged one; with UNIMPLEMENTED for one of a newer version.
  static result<recording> parse(std::string bytes);
  /// Reads a file. Fails as parse() does, or with NOT_FOUND or UNAVAILABLE if the file cannot be read.
  static result<recording> read(const std::string& file);

  /// Returns the events of all loops in the order of their times; those of one loop in their order.
  [[nodiscard]] const std::vector<recorded_event>& events() const noexcept { return events_; }
  /// Returns the calls in the order of their first events. Takes time and memory in proportion to events().
  [[nodiscard]] std::vector<recorded_call> calls() const;
  /// Returns when it was written.
  [[nodiscard]] wall_time written() const noexcept { return written_; }
  /// Returns the number of the process.
  [[nodiscard]] std::uint32_t process() const noexcept { return process_; }
  /// Returns the number of the signal that caused it; 0: none.
  [[nodiscard]] int signal() const noexcept { return signal_; }
  /// Returns the content of its file.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  friend class recording_parser;
  recording() = default;
  std::string bytes_;
  std::vector<std::vector<char>> texts_;  // vectors, because moving a short string moves its characters
  std::vector<recorded_event> events_;
  wall_time written_{};
  std::uint32_t process_ = 0;
  int signal_ = 0;
};

/// Takes a recording of the loops of `of`, on any loop of any runtime. Each loop copies its own events, which
/// takes less than a millisecond. A loop that does not answer within 100 ms, because a task occupies it or
/// no thread drives it, is read from outside: its newest events may then be incomplete. `of` must outlive
/// the task. The result holds up to 65,536 events of each loop.
task<recording> take_recording(runtime& of);

/// Takes a recording of the loops of `of` and writes it to `file`, which only its owner may read. Blocks its
/// thread, which must drive no loop (else: usage_error). Fails with UNAVAILABLE if the file cannot be
/// written; the file is then incomplete. Otherwise as take_recording().
status write_recording(runtime& of, const std::string& file);

/// Writes a recording of all loops of the process to `file` when the process crashes (SIGSEGV, SIGBUS,
/// SIGILL, SIGFPE, SIGSYS), breaks an invariant of the library or ends by std::terminate() (SIGABRT), and
/// then lets it end as it would have. With `also_on`, writes one whenever the process receives this signal,
/// too, and continues; no signal_watch may watch it. "%p" in `file` becomes the number of the process. A
/// later recording replaces an earlier one. The handlers allocate nothing and take no lock; they do not run
/// on a stack that has overflowed, unless the program has given its threads another one by sigaltstack(2).
/// The environment variable CORACLE_RECORDING=FILE has the same effect for each program.
///
/// Any thread may call it; the last call decides. Fails with INVALID_ARGUMENT if the name is empty or longer
/// than 1000 bytes, and with UNAVAILABLE if the system refuses a handler.
status record_crashes(const std::string& file, std::optional<process_signal> also_on = std::nullopt);

static_assert(!std::is_aggregate_v<recorded_event> && !std::is_aggregate_v<recorded_call>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
