// connection: the HTTP/2 engine for one connection, either role, without I/O.
#pragma once

#include "base/output_buffer.hpp"
#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "hpack/encoder.hpp"
#include "http2/bandwidth_delay.hpp"
#include "http2/closed_streams.hpp"
#include "http2/error_code.hpp"
#include "http2/event.hpp"
#include "http2/flow_window.hpp"
#include "http2/frame.hpp"
#include "http2/header_reader.hpp"
#include "http2/keepalive.hpp"
#include "http2/limits.hpp"
#include "http2/ping_strikes.hpp"
#include "http2/request_line.hpp"
#include "http2/send_queue.hpp"
#include "http2/settings_frame.hpp"
#include "http2/stream.hpp"
#include "http2/stream_index.hpp"
#include "http2/token_bucket.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::http2 {

enum class role : std::uint8_t { client, server };

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
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // --- receiving
  // The next bytes from the peer; they must stay until next() has returned none.
  void feed(bytes_view bytes, time_point now);
  [[gnu::hot, gnu::flatten]] event next() noexcept;
  // Ends reading before next() has returned none: returns the bytes that it has not read, to be fed again later, in front of
  // any others. They, and the events of before, are borrowed from feed()'s argument no longer.
  [[nodiscard]] bytes_view take_unread() noexcept;
  // The fields of the headers event just returned, in order. False at the end of the block; then
  // headers_ok() tells whether it kept to RFC 9113 section 8. If not, the engine has reset the stream
  // (PROTOCOL_ERROR; ENHANCE_YOUR_CALM if the header list was too large) and the next event is its reset: forget
  // what was pulled. Fields not pulled are decoded and dropped by the next next().
  bool next_field(field& out) noexcept;
  // The same for all of them in one pass: f(slot, text) with the slot of a field, whose text() gives the field. It returns the
  // slot to leave at the field, which is done if it has none yet. Returns headers_ok(). What f throws leaves fields unread.
  template <class F>
  bool read_fields(F f);
  [[nodiscard]] bool headers_ok() const noexcept { return block_good_; }
  // For those who keep what they have read: a number for the fields that were just read to their end, if they are
  // likely to come again, else 0; and, before any field of a later request is pulled, whether they are those that
  // had this number. True: the block counts as read.
  [[nodiscard]] std::uint32_t head_number() const noexcept { return reader_.number(); }
  [[nodiscard]] bool head_repeats(std::uint32_t number) noexcept;
  // Leaves a number (not 0, at most header_reader::slot_max) at the current field's table entry or literal, to be found in
  // field::slot when the peer sends the same again.
  void set_slot(std::uint32_t slot) noexcept {
    if (block_open_) reader_.set_slot(slot);
  }
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
  void set_user(stream_ref s, void* user) noexcept {
    if (stream* found = find(s)) found->user = user;
  }
  // Says that the user is done with s; closes it with RST_STREAM(CANCEL, or NO_ERROR on a server that
  // has answered in full) if it is still open. The ref is dead afterwards. Each stream that the user was
  // told of by a headers event, or got from open(), is released exactly once.
  [[gnu::flatten]] void release(stream_ref s) noexcept;
  // Open for sending: not half-closed (local), not closed.
  [[nodiscard]] bool can_send(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found && found->can_send();
  }
  // 0 before a client's first HEADERS.
  [[nodiscard]] stream_id id_of(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found ? found->id : 0;
  }
  [[nodiscard]] std::size_t open_streams() const noexcept { return open_count_; }
  [[nodiscard]] bool can_open() const noexcept;

  // --- sending: headers
  // begin, add each field, end. Frames go straight into the output, with indexing by `policy`;
  // not for trailers behind queued data: those must be a stateless block.
  using indexing = hpack::indexing;
  bool begin_headers(stream_ref s) noexcept;
  void add_field(std::string_view name, std::string_view value, indexing policy = indexing::index) noexcept;
  // For heads that begin alike: keeps what add_field() has written since begin_headers(), once that changes the table no
  // more, else nothing; and adds it to another head of the connection. add_fields() is false when the table has
  // changed meanwhile: then each field is to be added anew. A HEAD
  // request must not be made of kept fields: its answer would be taken for a malformed one.
  void keep_fields(hpack::encoded_fields& to) const;
  bool add_fields(const hpack::encoded_fields& kept) noexcept;
  void end_headers(bool end_stream) noexcept;
  // A block encoded beforehand by hpack's stateless functions (no reference to a dynamic table).
  // Goes behind data that is still queued. False when the stream is closed for sending.
  bool send_block(stream_ref s, bytes_view stateless_block, bool end_stream);

  // --- sending: data
  // The fast path: room for n bytes of DATA in the output, behind a frame header that commit_data
  // writes; null when the windows, the frame size, the stream's queue or state do not allow it
  // at once. Between the two calls nothing else may be sent. Small n only: frame-size bound.
  std::uint8_t* reserve_data(stream_ref s, std::size_t n);
  [[gnu::hot, gnu::flatten]] void commit_data(stream_ref s, std::size_t n, bool end_stream) noexcept;
  // Likewise for a server's whole answer: room for the message, whose HEADERS are before it; commit_reply() ends the
  // stream and releases it. Both are given the same.
  std::uint8_t* reserve_reply(stream_ref s, const whole_reply& r);
  [[gnu::hot, gnu::flatten]] void commit_reply(stream_ref s, const whole_reply& r) noexcept;
  // The general path: takes the bytes over and sends them in turn with other streams, as windows allow.
  bool queue_data(stream_ref s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  // Bytes of s queued and not yet in the output.
  [[nodiscard]] std::size_t queued(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found ? found->queue.bytes() : 0;
  }
  // One writable event when queued(s) has sunk to `low_bytes` or less.
  void want_writable(stream_ref s, std::size_t low_bytes);

  // --- sending: the rest
  // Aborts s: RST_STREAM goes out, queued data is dropped. No event follows for it.
  void reset(stream_ref s, error_code code) noexcept;
  // Server: GOAWAY(2^31-1) and PING; the final GOAWAY when its ack comes (or drain_now(), or
  // limits::drain_timeout). Client: takes no new streams.
  void drain() noexcept;
  void drain_now() noexcept;
  // GOAWAY with this code; nothing is accepted afterwards.
  void fail(error_code code, std::string_view reason) noexcept;
  // Server: between drain() and the final GOAWAY new streams may still come.
  [[nodiscard]] bool draining() const noexcept { return goaway_first_ && !failed_; }
  // Server: the peer has answered the drain's PING, and there was no stream since: of what it was sent, it has read all
  // but the final GOAWAY.
  [[nodiscard]] bool all_read() const noexcept { return all_read_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  // --- memory
  // What the engine holds at the moment, with what set_kept() says; to be compared, not to be summed to the byte.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // Gives back what the next frames would take again: the connection idles. Between feeds. A head_number() is void then.
  void release_idle_memory() noexcept;
  // The user keeps so much of what came on s.
  void set_kept(stream_ref s, std::size_t bytes) noexcept;
  // Queued bytes of streams that have been answered in full: what the peer would only have to read.
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return unread_bytes_; }
  // Octets of DATA that went into the output, ever.
  [[nodiscard]] std::uint64_t data_sent() const noexcept { return data_sent_; }
  // Server: new streams are REFUSED_STREAM while on.
  void refuse_streams(bool on) noexcept { refusing_ = on; }
  // What open() or set_user() said of a stream that was not released yet; else null.
  [[nodiscard]] void* user_of(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found && !found->released ? found->user : nullptr;
  }

  // --- about the peer
  // PINGs answered so far, for keepalive enforcement (gRFC A8).
  [[nodiscard]] std::uint64_t pings_answered() const noexcept { return pings_answered_; }
  // What the windows of the connection let each side send at the moment.
  [[nodiscard]] std::int64_t send_window_bytes() const noexcept { return send_.bytes(); }
  [[nodiscard]] std::int64_t receive_window_bytes() const noexcept { return receive_.open_bytes(); }
  // PINGs that limits::keepalive has sent.
  [[nodiscard]] std::uint64_t keepalives_sent() const noexcept { return alive_.pings(); }

  // --- output and time
  // Moves queued DATA into the output, a frame per stream in turn, until `most_bytes` are pending there.
  void produce(std::size_t most_bytes = 256u << 10) noexcept;
  // That windows would let through.
  [[nodiscard]] bool has_queued() const noexcept {
    return !ready_free_.empty() || (!ready_data_.empty() && send_.available() > 0);
  }
  [[nodiscard]] base::output_buffer& output() noexcept { return output_; }
  // All of it was taken, to be sent. Of a user that never says so everything counts as sent.
  void output_taken() noexcept { kept_from_ = next_own_id_; }
  // Server: the output is not to be sent yet. Until the client's preface is whole, the first bytes may turn out to be a
  // request of HTTP/1.x, and a response to that takes the output's place. Ends with the final GOAWAY, too.
  [[nodiscard]] bool awaits_preface() const noexcept;
  // When on_timeout() wants to be called next; never if nothing is pending.
  [[nodiscard]] time_point next_timeout() const noexcept;
  void on_timeout(time_point now) noexcept;

 private:
  enum class phase : std::uint8_t { preface, request_line, header, payload, pad_length, data, skip };
  enum class progress : std::uint8_t { event, again, starved };

  // --- incoming frames, and DATA
  progress read(event& e);
  [[gnu::cold, gnu::noinline]] progress read_preface();
  [[gnu::cold, gnu::noinline]] progress read_request_line(bytes_view bytes);
  progress read_header(event& e);
  [[gnu::cold, gnu::noinline]] progress read_payload(event& e);
  [[gnu::cold, gnu::noinline]] progress read_skipped();
  progress on_frame(bytes_view payload, event& e);
  progress begin_data();
  progress begin_data_payload(std::uint32_t pad);
  progress read_data(event& e);
  bytes_view take_input(std::size_t n) noexcept;

  // --- incoming HEADERS and CONTINUATION
  bool advance_block() noexcept;  // to the next field
  progress on_headers(bytes_view payload, event& e);
  [[gnu::cold, gnu::noinline]] progress on_continuation(bytes_view payload, event& e);
  progress on_block(stream_id id, bytes_view bytes, event& e);
  progress on_new_stream(stream_id id, bytes_view bytes, event& e);
  progress give_block(stream& s, bytes_view bytes, http::header_kind kind, event& e);
  [[gnu::cold, gnu::noinline]] progress refuse_block(stream* s, stream_id id, bytes_view bytes,
                                                     error_code code, std::string_view reason);
  [[gnu::cold, gnu::noinline]] progress refuse_begun_block(stream& s, error_code code,
                                                           std::string_view reason);
  [[gnu::cold, gnu::noinline]] void finish_block();
  void settle_block();
  void settle_good_block(stream& s);

  // --- incoming control frames: SETTINGS, PING, WINDOW_UPDATE and so on
  [[gnu::cold, gnu::noinline]] progress on_priority(bytes_view payload);
  [[gnu::noinline]] progress on_rst_stream(bytes_view payload);
  [[gnu::cold, gnu::noinline]] progress on_settings(bytes_view payload);
  [[gnu::cold, gnu::noinline]] progress on_settings_ack();
  [[gnu::noinline]] progress on_ping(bytes_view payload);
  [[gnu::cold, gnu::noinline]] progress on_goaway(bytes_view payload);
  [[gnu::noinline]] progress on_window_update(bytes_view payload);

  // --- outgoing headers, data and credit
  void enqueue(stream& s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool is_block,
               bool end_stream);
  void begin_head(stream& s);
  bool finish_head(bool end_stream);
  void send_turn(stream& s);
  bool send_data_frame(stream& s);
  void schedule(stream& s) noexcept;
  // Before and after a queue changes: they keep the sums.
  void uncount(const stream& s) noexcept;
  void count(const stream& s) noexcept;
  void count_data(std::size_t n) noexcept;
  void tell_if_writable(stream& s) noexcept;
  bool end_sent(stream& s, stream_input input);
  void return_connection_credit();
  void allow_updates(std::uint32_t n) noexcept;

  // --- outgoing control frames, each complete at once
  void write_rst_stream(stream_id id, error_code code);
  void write_window_update(stream_id id, std::uint32_t increment);
  void write_ping(std::uint64_t opaque, bool ack);
  void write_goaway(stream_id last, error_code code, std::string_view debug);
  bool answered(
      std::size_t n);  // an answer of n bytes to a control frame was written; false if it was one too many

  // --- streams: looked up, made, closed, released
  [[nodiscard]] stream* find(stream_ref s) const noexcept { return streams_.find(s); }
  [[nodiscard]] stream* find_id(stream_id id) noexcept;
  [[nodiscard]] stream_state state_of(stream_id id) const noexcept;  // of one that is not in the index
  stream& make_stream(void* user);
  void number(stream& s, stream_id id);  // throws before anything has changed
  void advance(stream& s, stream_input input) noexcept;  // s may be gone afterwards if it is released
  void close(stream& s, stream_state how) noexcept;  // likewise
  void erase(stream& s) noexcept;
  void end(stream& s, stream_state how, error_code code, initiator by, std::string_view reason,
           bool unprocessed = false) noexcept;
  [[gnu::cold, gnu::noinline]] void stream_fault(stream* s, stream_id id, error_code code,
                                                 std::string_view reason);
  [[nodiscard]] bool at_limit() const noexcept {
    return open_count_ >= std::min(peer_.max_concurrent_streams, limit_.own_open_streams);
  }
  void note_limit() noexcept;

  // --- drains, failures, timers
  [[gnu::cold, gnu::noinline]] void out_of_memory() noexcept;
  [[gnu::cold, gnu::noinline]] void fail(error_code code, std::string_view reason, initiator by) noexcept;
  // unsent_from: a client's streams that have not left.
  void end_everything(error_code code, std::string_view reason, initiator by,
                      stream_id unsent_from = ~stream_id{0}) noexcept;
  [[gnu::cold, gnu::noinline]] progress die(error_code code, std::string_view reason) noexcept;
  [[nodiscard]] bool is_drain_ping(std::uint64_t opaque) const noexcept;
  [[nodiscard]] bool answers_window_ping(std::uint64_t opaque) noexcept;
  [[nodiscard]] bool answers_keepalive(std::uint64_t opaque) noexcept;
  [[gnu::noinline]] bool take_pending(event& e);
  void ask_if_alive();
  [[gnu::cold, gnu::noinline]] void watch_unfinished() noexcept;

  // --- floods: false when the connection has failed over it
  bool charge(token_bucket& bucket, token_rate rate, std::string_view reason);
  [[gnu::cold, gnu::noinline]] bool charge_reset(stream_id id);
  [[gnu::cold, gnu::noinline]] bool charge_control();
  [[gnu::cold, gnu::noinline]] bool charge_empty();
  [[gnu::cold, gnu::noinline]] bool charge_stray_block();

  const role side_;
  limits limit_;
  time_point now_;
  base::output_buffer output_;

  // Reading.
  bytes_view in_{};
  phase reading_;
  std::uint8_t partial_bytes_ = 0;  // of the preface, or of a frame header in `partial`
  union {
    std::array<std::uint8_t, frame_header_bytes> partial_{};
    http2::request_line first_line_;  // of a peer that sends no preface, and so no frame
  };
  frame_header frame_{};
  std::vector<std::uint8_t> assembly_;  // a payload that came in pieces
  std::uint32_t data_left_ = 0;  // of the DATA frame, or of one that is skipped
  std::uint32_t pad_left_ = 0;
  stream* data_stream_ = nullptr;  // null: the payload is dropped

  // The header block in work.
  header_reader reader_;
  std::vector<std::uint8_t> block_;  // of HEADERS with CONTINUATION
  stream_id block_id_ = 0;  // not 0: CONTINUATION must follow
  std::uint32_t block_frames_ = 0;
  bool block_ends_stream_ = false;
  bool block_depends_on_itself_ = false;
  bool block_open_ = false;  // a headers event is out, and its fields are not yet all decoded
  bool block_good_ = false;
  bool block_has_length_ = false;  // its content-length describes this message's DATA
  stream* block_stream_ = nullptr;

  // SETTINGS.
  settings_values peer_;
  bool peer_settings_seen_ = false;
  bool settings_acked_ = false;
  time_point settings_deadline_;
  // Of the frame or header block that has come in part; see limits::header_timeout.
  time_point block_deadline_ = never;

  // Streams.
  base::slab<stream, 8> streams_;
  stream_index index_;
  stream* recent_ = nullptr;  // in the index; its next frame is likely to be the next
  closed_streams closed_;
  std::size_t open_count_ = 0;  // not closed, numbered or not
  std::size_t unnumbered_count_ = 0;  // of these: open() without HEADERS so far
  stream_id highest_peer_id_ = 0;
  stream_id fed_from_ = 0;  // what highest_peer_id was before this turn, which has one time
  stream_id last_given_id_ = 0;  // the highest that the user has got to see
  stream_id next_own_id_ = 1;  // client
  stream_id kept_from_ = ~stream_id{0};  // client: streams from here on have not left the output
  std::uint32_t stream_receive_bytes_;  // the receive window of new streams

  // Sending.
  hpack::encoder encoder_;
  send_window send_;
  receive_window receive_;
  bandwidth_delay path_;
  chunk_pool chunks_;
  std::size_t queued_bytes_ = 0;  // in the streams' queues; of these, in those that are complete:
  std::size_t unread_bytes_ = 0;
  std::size_t kept_bytes_ = 0;  // the streams' heads, and what their users keep
  std::uint64_t data_sent_ = 0;  // octets of DATA, ever
  base::intrusive_list<sending_hook> ready_free_;  // streams whose next frame needs no window
  base::intrusive_list<sending_hook> ready_data_;  // streams with data and a window of their own
  stream* head_stream_ = nullptr;  // between begin_headers() and end_headers()
  std::size_t head_at_ = 0;
  // What the encoder had inserted before the head; no such number when the block begins with a table size update.
  std::uint64_t head_inserted_ = 0;
  std::size_t reserved_bytes_ = 0;
  bool credit_withheld_ = false;  // for want of memory,
  bool refusing_ = false;  // and no new streams

  // Events to come.
  bool pending_ = false;  // one of these may be:
  base::intrusive_list<telling_hook> resets_;
  base::intrusive_list<telling_hook> writables_;
  bool settings_pending_ = false;
  bool slots_pending_ = false;
  bool goaway_pending_ = false;
  bool failed_pending_ = false;
  bool was_at_limit_ = false;
  error_code goaway_code_ = error_code::no_error;
  bytes_view goaway_debug_{};
  error_code failed_code_ = error_code::no_error;
  initiator failed_by_ = initiator::library;
  std::string_view failed_reason_{};

  // The end.
  bool failed_ = false;
  bool peer_goes_away_ = false;
  bool draining_ = false;  // client: no new streams
  bool goaway_first_ = false;  // server: GOAWAY(2^31-1) is out, the final one is not
  bool goaway_final_ = false;
  stream_id goaway_last_id_ = 0;
  stream_id drained_at_ =
      stream_id_max;  // the last stream when the drain began; that value when one was open
  bool all_read_ = false;
  time_point drain_deadline_ = never;
  std::uint64_t pings_answered_ = 0;
  keepalive alive_;
  ping_strikes strikes_;

  // Floods.
  token_bucket reset_tokens_;
  token_bucket early_reset_tokens_;
  token_bucket control_tokens_;
  token_bucket empty_tokens_;
  std::uint32_t update_allowance_ = 0;  // WINDOW_UPDATEs that our DATA may rightly call forth
  std::uint8_t ping_allowance_ = 0;  // PINGs, likewise
  std::uint32_t stray_allowance_ = 0;  // header blocks that may be under way on streams which we have reset
  std::size_t answer_bytes_ = 0;
};

template <class F>
bool connection::read_fields(F f) {
  while (block_open_) {
    reader_.read_marked(f);
    if (!advance_block()) break;
    const field next = reader_.current();
    const std::uint32_t leave = f(next.slot, [&] { return next; });
    if (leave != 0 && next.slot == 0) set_slot(leave);
  }
  return block_good_;
}

}  // namespace coracle::http2
