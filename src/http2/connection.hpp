// connection: the HTTP/2 engine for one connection, either role, without I/O.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/output_buffer.hpp"
#include "http2/error_code.hpp"
#include "http2/event.hpp"
#include "http2/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::http2 {

enum class role : std::uint8_t { client, server };

// Where a field that is sent with every request was last entered into the peer's table. Belongs to one
// connection and one field: it comes with the same name and value every time.
struct field_memo {
  std::uint64_t place = 0;
};

// A pull parser (RFC 9113): bytes and the time go in by feed(), events come out of next(), frames
// to send gather in output(). Nothing here calls back, waits or reads a clock.
//
//   engine.feed(bytes, now);
//   for (event e; (e = engine.next()).what != event::kind::none;) handle(e);
//   engine.produce();             // once a turn: queued DATA into the output, as windows allow
//   send(engine.output());
//
// One thread. Any sending function may be called between two next(). Functions that take a
// stream_ref are harmless on a stream that has closed meanwhile: they do nothing and say so.
//
// Memory: the functions that are not noexcept throw std::bad_alloc and leave everything as it was. In the others a
// failed allocation fails the connection with ENHANCE_YOUR_CALM, as a fault of the peer's would: what is lost then (a
// header table's entry, a frame that was half written) belongs to all of its streams.
class connection {
 public:
  connection(role r, const limits& l, time_point now);  // puts our preface and SETTINGS into the output
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // --- receiving
  // The next bytes from the peer; they must stay until next() has returned none.
  void feed(bytes_view bytes, time_point now);
  event next() noexcept;
  // Ends reading before next() has returned none: returns the bytes that it has not read, to be fed again later, in front of
  // any others. They, and the events of before, are borrowed from feed()'s argument no longer.
  [[nodiscard]] bytes_view take_unread() noexcept;
  // The fields of the headers event just returned, in order. False at the end of the block; then
  // headers_ok() tells whether it kept to RFC 9113 section 8. If not, the engine has reset the stream
  // (PROTOCOL_ERROR; ENHANCE_YOUR_CALM if the header list was too large) and the next event is its reset: forget
  // what was pulled. Fields not pulled are decoded and dropped by the next next().
  bool next_field(field& out) noexcept;
  [[nodiscard]] bool headers_ok() const noexcept;
  // For those who keep what they have read: a number for the fields that were just read to their end, if they are
  // likely to come again, else 0; and, before any field of a later request is pulled, whether they are those that
  // had this number. True: the block counts as read.
  [[nodiscard]] std::uint32_t head_number() const noexcept;
  [[nodiscard]] bool head_repeats(std::uint32_t number) noexcept;
  // Leaves a number (not 0) at the current field's table entry or literal, to be found in
  // field::slot when the peer sends the same again.
  void set_slot(std::uint32_t slot) noexcept;
  // The peer closed its sending side: everything open ends as reset events, then comes failed. A client's output is
  // dropped; streams whose HEADERS were in it never left, and are `unprocessed`.
  void feed_end(time_point now) noexcept;

  // Gives stream credit back for n bytes of data events that the user is done with; connection
  // credit returns by itself on receipt (withhold_credit: not while told so, for a memory quota).
  void consume(stream_ref s, std::size_t n) noexcept;
  void withhold_credit(bool on) noexcept;

  // --- streams
  // Client: a new stream, or no_stream when the peer's limit is reached, it goes away, or ids are used up.
  stream_ref open(void* user);
  void set_user(stream_ref s, void* user) noexcept;
  // Says that the user is done with s; closes it with RST_STREAM(CANCEL, or NO_ERROR on a server that
  // has answered in full) if it is still open. The ref is dead afterwards. Each stream that the user was
  // told of by a headers event, or got from open(), is released exactly once.
  void release(stream_ref s) noexcept;
  [[nodiscard]] bool can_send(
      stream_ref s) const noexcept;  // open for sending: not half-closed (local), not closed
  [[nodiscard]] stream_id id_of(stream_ref s) const noexcept;  // 0 before a client's first HEADERS
  [[nodiscard]] std::size_t open_streams() const noexcept;
  [[nodiscard]] bool can_open() const noexcept;

  // --- sending: headers
  // begin, add each field, end. Frames go straight into the output, with indexing by `policy`;
  // not for trailers behind queued data: those must be a stateless block.
  enum class indexing : std::uint8_t { index, no_index, never_index };
  bool begin_headers(stream_ref s) noexcept;
  void add_field(std::string_view name, std::string_view value, indexing policy = indexing::index) noexcept;
  // The same as with indexing::index, and much cheaper when the field is still in the table.
  void add_field(std::string_view name, std::string_view value, field_memo& memo) noexcept;
  void end_headers(bool end_stream) noexcept;
  // A block encoded beforehand by hpack's stateless functions (no reference to a dynamic table).
  // Goes behind data that is still queued. False when the stream is closed for sending.
  bool send_block(stream_ref s, bytes_view stateless_block, bool end_stream);

  // --- sending: data
  // The fast path: room for n bytes of DATA in the output, behind a frame header that commit_data
  // writes; null when the windows, the frame size, the stream's queue or state do not allow it
  // at once. Between the two calls nothing else may be sent. Small n only: frame-size bound.
  std::uint8_t* reserve_data(stream_ref s, std::size_t n);
  void commit_data(stream_ref s, std::size_t n, bool end_stream) noexcept;
  // Likewise for a server's whole answer: room for the message, whose HEADERS are before it; commit_reply() ends the
  // stream. Both are given the same.
  std::uint8_t* reserve_reply(stream_ref s, const whole_reply& r);
  void commit_reply(stream_ref s, const whole_reply& r) noexcept;
  // The general path: takes the bytes over and sends them in turn with other streams, as windows allow.
  bool queue_data(stream_ref s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  // Bytes of s queued and not yet in the output.
  [[nodiscard]] std::size_t queued(stream_ref s) const noexcept;
  // One writable event when queued(s) has sunk to `low_bytes` or less.
  void want_writable(stream_ref s, std::size_t low_bytes);

  // --- sending: the rest
  // Aborts s: RST_STREAM goes out, queued data is dropped. No event follows for it.
  void reset(stream_ref s, error_code code) noexcept;
  void ping(std::uint64_t opaque) noexcept;
  // Server: GOAWAY(2^31-1) and PING; the final GOAWAY when its ack comes (or drain_now(), or
  // limits::drain_timeout). Client: takes no new streams.
  void drain() noexcept;
  void drain_now() noexcept;
  // GOAWAY with this code; nothing is accepted afterwards.
  void fail(error_code code, std::string_view reason) noexcept;
  // Server: between drain() and the final GOAWAY new streams may still come.
  [[nodiscard]] bool draining() const noexcept;
  // Server: the peer has answered the drain's PING, and there was no stream since: of what it was sent, it has read all
  // but the final GOAWAY.
  [[nodiscard]] bool all_read() const noexcept;
  [[nodiscard]] bool failed() const noexcept;

  // --- memory
  // What the engine holds at the moment, with what set_kept() says; to be compared, not to be summed to the byte.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // Gives back what the next frames would take again: the connection idles. Between feeds. A head_number() is void then.
  void release_idle_memory() noexcept;
  // The user keeps so much of what came on s.
  void set_kept(stream_ref s, std::size_t bytes) noexcept;
  // Queued bytes of streams that have been answered in full: what the peer would only have to read.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;
  // Octets of DATA that went into the output, ever.
  [[nodiscard]] std::uint64_t data_sent() const noexcept;
  // Server: new streams are REFUSED_STREAM while on.
  void refuse_streams(bool on) noexcept;
  // What open() or set_user() said of a stream that was not released yet; else null.
  [[nodiscard]] void* user_of(stream_ref s) const noexcept;

  // --- about the peer
  // Its SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 6.5.2), 2^32-1 if it has none; advice, nothing enforces it.
  [[nodiscard]] std::uint32_t peer_header_list_bytes() const noexcept;
  // PINGs answered so far, for keepalive enforcement (gRFC A8).
  [[nodiscard]] std::uint64_t pings_answered() const noexcept;
  // What the windows of the connection let each side send at the moment.
  [[nodiscard]] std::int64_t send_window_bytes() const noexcept;
  [[nodiscard]] std::int64_t receive_window_bytes() const noexcept;
  // PINGs that limits::keepalive has sent.
  [[nodiscard]] std::uint64_t keepalives_sent() const noexcept;

  // --- output and time
  // Moves queued DATA into the output, a frame per stream in turn, until `most_bytes` are pending there.
  void produce(std::size_t most_bytes = 256u << 10) noexcept;
  [[nodiscard]] bool has_queued() const noexcept;  // that windows would let through
  [[nodiscard]] base::output_buffer& output() noexcept;
  // All of it was taken, to be sent. Of a user that never says so everything counts as sent.
  void output_taken() noexcept;
  // Server: the output is not to be sent yet. Until the client's preface is whole, the first bytes may turn out to be a
  // request of HTTP/1.x, and a response to that takes the output's place. Ends with the final GOAWAY, too.
  [[nodiscard]] bool awaits_preface() const noexcept;
  // When on_timeout() wants to be called next; never if nothing is pending.
  [[nodiscard]] time_point next_timeout() const noexcept;
  void on_timeout(time_point now) noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::http2
