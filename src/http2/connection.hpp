// connection: a sans-I/O HTTP/2 engine for one connection, in either role.
#pragma once

#include "base/event_ring.hpp"
#include "base/hot_and_cold.hpp"
#include "base/output_buffer.hpp"
#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "hpack/encoder.hpp"
#include "http2/bdp_estimator.hpp"
#include "http2/closed_streams.hpp"
#include "http2/error_code.hpp"
#include "http2/error_counts.hpp"
#include "http2/event.hpp"
#include "http2/flow_window.hpp"
#include "http2/frame.hpp"
#include "http2/header_reader.hpp"
#include "http2/keepalive.hpp"
#include "http2/limits.hpp"
#include "http2/settings_frame.hpp"
#include "http2/stream.hpp"
#include "http2/stream_index.hpp"
#include "http2/token_bucket.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::http2 {

enum class role : std::uint8_t { client, server };

// A pull parser (RFC 9113): feed() takes bytes and the time, next() returns events, and output() collects the
// frames to send. It makes no callbacks, does not block and does not read a clock.
//
//   engine.feed(bytes, now);
//   for (event e; (e = engine.next()).what != event::kind::none;) handle(e);
//   engine.produce();             // once per loop iteration: moves queued DATA into the output
//   send(engine.output());
//
// Not synchronized: use it on one thread. All sending functions may be called between two calls of next().
// Functions that take a stream_ref do nothing if the stream has closed, and report that.
//
// Memory: functions that are not noexcept throw std::bad_alloc and leave the state unchanged. In the others a
// failed allocation fails the connection with ENHANCE_YOUR_CALM, as a violation by the peer would: the data
// that is then lost (an entry of a header table, a half-written frame) belongs to all of its streams.
class connection {
 public:
  // Writes the preface and our SETTINGS into the output. `events` records the frames.
  connection(role r, const limits& l, time_point now, const base::recorded_connection& events = {});
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // --- receiving
  // Takes the next bytes from the peer. They must stay valid until next() has returned none.
  void feed(bytes_view bytes, time_point now);
  CORACLE_HOT event next() noexcept;
  // Stops reading before next() has returned none. Returns the bytes that it has not read; feed them again
  // later, before any others. Neither the engine nor earlier events refer to feed()'s argument afterwards.
  [[nodiscard]] bytes_view take_unread() noexcept;
  // Returns the fields of the headers event just returned, in order. Returns false at the end of the block;
  // headers_ok() then tells whether the block conforms to RFC 9113 section 8. If it does not, the engine has
  // reset the stream (PROTOCOL_ERROR, or ENHANCE_YOUR_CALM if the header list was too large), and the next
  // event is its reset: discard the fields that were read. The next call of next() decodes and drops the
  // fields that were not read.
  bool next_field(field& out) noexcept;
  // Client: whether next_field() returned false because the header list is too large. The stream has not been
  // reset yet. If the user reads the fields that exceed the limit, with next_excess_field() until it returns
  // false, the stream continues, and headers_ok() returns true unless the block is undecodable. These fields
  // are not validated, and there can be much more of them than their block has octets: keep little.
  [[nodiscard]] bool headers_too_large() const noexcept {
    return block_open_ && reader_.result() == header_reader::outcome::too_large;
  }
  bool next_excess_field(field& out) noexcept;
  // The size of the fields that were read, as SETTINGS_MAX_HEADER_LIST_SIZE defines it, including the excess.
  [[nodiscard]] std::uint64_t header_list_bytes() const noexcept;
  // Reads all fields in one pass: calls f(slot, text) with the slot of each field, whose text() returns the
  // field. f returns the slot to set at the field, which has an effect if it has none yet. Returns
  // headers_ok(). If f throws, not all fields have been read.
  template <class F>
  bool read_fields(F f);
  [[nodiscard]] bool headers_ok() const noexcept { return block_good_; }
  // For callers that keep what they have read of requests; see header_reader::block_number() and
  // read_varying(). header_block_number() may be called before a field is read and after the last one.
  // read_varying_fields(), in place of next_field(), returns false if nothing was read; after true,
  // headers_ok() says whether the values conform.
  [[nodiscard]] std::uint32_t header_block_number() const noexcept { return reader_.block_number(); }
  [[nodiscard]] std::span<const hpack::block_pattern::varying> varying_literals() const noexcept {
    return reader_.varying_literals();
  }
  [[nodiscard]] bool read_varying_fields(std::span<const hpack::field>& out) noexcept;
  // After the headers of a message of s have been read. Returns true if all of its content is in the input as
  // one DATA frame of at most `bytes_max` octets, which ends the stream and which the windows permit.
  // take_content() then reads it, and no data event follows. If it is not called, next() returns it.
  [[nodiscard]] CORACLE_HOT bool peek_content(stream_ref s, std::size_t bytes_max, bytes_view& out) noexcept;
  CORACLE_HOT void take_content(stream_ref s, bytes_view content) noexcept;
  // Client: after read_varying_fields() has read the headers of a response. Returns true if the rest of the
  // response is in the input as most servers send it: one DATA frame of at most `bytes_max` octets, which the
  // windows permit, and trailers that have a number. take_rest() then reads both frames, and the stream has
  // ended: no event follows for it. If it is not called, next() returns them one by one. Call it once, and
  // header_block_number() before: that is the number of the trailers afterwards.
  [[nodiscard]] CORACLE_HOT bool peek_rest(stream_ref s, std::size_t bytes_max, response_rest& out) noexcept;
  CORACLE_HOT void take_rest(stream_ref s, const response_rest& rest) noexcept;
  // Stores a number (not 0, at most header_reader::slot_max) with the current field's table entry or literal.
  // It is returned in field::slot when the peer sends the same field again.
  void set_slot(std::uint32_t slot) noexcept {
    if (block_open_) reader_.set_slot(slot);
  }
  // Call when the peer has closed its sending side: all open streams end with reset events, followed by
  // failed. A client's output is dropped; streams whose HEADERS were still in it were never sent and are
  // `unprocessed`.
  void feed_end(time_point now) noexcept;

  // consume() returns stream credit for n bytes of data events that the user has processed. Connection credit
  // is returned on receipt, unless withhold_credit(true) is in effect for a memory quota.
  void consume(stream_ref s, std::size_t n) noexcept;
  void withhold_credit(bool on) noexcept;

  // --- streams
  // Client: opens a stream. Returns no_stream if the peer's limit is reached, the connection is going away,
  // or the ids are exhausted. now: the time, if it may have advanced since the last feed().
  stream_ref open(void* user, time_point now = time_point::min());
  void set_user(stream_ref s, void* user) noexcept {
    if (stream* found = find(s)) found->user = user;
  }
  // Releases s: the user has finished with it. If it is still open, it is closed with RST_STREAM (CANCEL, or
  // NO_ERROR on a server that has sent its whole response); on a client later if it resets many streams, see
  // limits::own_resets_burst. The ref is invalid afterwards. Release each stream that came with a headers
  // event or from open() exactly once.
  [[gnu::flatten]] void release(stream_ref s) noexcept;
  // Whether s is open for sending: neither half-closed (local) nor closed.
  [[nodiscard]] bool can_send(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found && found->can_send();
  }
  // The stream's id; 0 before a client's first HEADERS.
  [[nodiscard]] stream_id id_of(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found ? found->id : 0;
  }
  // Without the streams that only wait to be reset.
  [[nodiscard]] std::size_t open_streams() const noexcept {
    return open_count_ - (pacing_ ? pacing_->awaiting : 0);
  }
  [[nodiscard]] bool can_open() const noexcept;

  // --- sending: headers
  // Call begin_headers(), add_field() for each field, then end_headers(). The frames are written directly
  // into the output and indexed according to `policy`. Trailers that follow queued data cannot be sent in
  // this way; send them as a stateless block.
  using indexing = hpack::indexing;
  bool begin_headers(stream_ref s) noexcept;
  void add_field(std::string_view name, std::string_view value, indexing policy = indexing::index) noexcept;
  // Reuses the start of header blocks. keep_fields() stores what add_field() has written since
  // begin_headers(), if it did not change the table, else nothing. add_fields() adds it to another block of
  // the same connection; it returns false if the table has changed since, and each field must then be added
  // again. A HEAD request must not use kept fields: its response would be considered malformed.
  void keep_fields(hpack::encoded_fields& to) const;
  bool add_fields(const hpack::encoded_fields& kept) noexcept;
  // The fast path for a block that consists of kept fields: begin_headers(), add_fields() and end_headers()
  // at once. Returns false, and has sent nothing, if these must be called.
  CORACLE_HOT bool send_fields(stream_ref s, const hpack::encoded_fields& kept) noexcept;
  void end_headers(bool end_stream) noexcept;
  // Sends a block that was encoded in advance by hpack's stateless functions (without references to a dynamic
  // table). It follows data that is still queued. Returns false if the stream is closed for sending.
  bool send_block(stream_ref s, bytes_view stateless_block, bool end_stream);
  // The fast path for a server's whole response that is one such block, given in pieces: send_block() with
  // the end of the stream, and release(). If the content of the request is in the input (see peek_content()),
  // it is dropped, and the stream ends without a reset. Returns false, and has sent nothing, if the two must
  // be called.
  [[nodiscard]] CORACLE_HOT bool answer_with_block(stream_ref s, std::span<const bytes_view> stateless_block);

  // --- sending: data
  // The fast path: reserves n bytes for DATA in the output, after a frame header that commit_data() writes.
  // Returns null if the windows, the frame size, or the stream's queue or state do not permit sending at
  // once. Nothing else may be sent between the two calls. For small n only: at most one frame.
  std::uint8_t* reserve_data(stream_ref s, std::size_t n);
  CORACLE_HOT void commit_data(stream_ref s, std::size_t n, bool end_stream) noexcept;
  // The fast path for a server's whole response: reserves space for the message, after its HEADERS.
  // commit_reply() ends the stream and releases it. Pass the same `r` to both.
  std::uint8_t* reserve_reply(stream_ref s, const unary_response& r);
  CORACLE_HOT void commit_reply(stream_ref s, const unary_response& r) noexcept;
  // The general path: takes ownership of the bytes and sends them in turn with other streams, as windows
  // allow.
  bool queue_data(stream_ref s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  // The bytes of s that are queued and not yet in the output.
  [[nodiscard]] std::size_t queued(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found ? found->queue.bytes() : 0;
  }
  // Requests one writable event when queued(s) has fallen to `low_bytes` or less.
  void want_writable(stream_ref s, std::size_t low_bytes);

  // --- sending: resets, drain and failure
  // Aborts s: sends RST_STREAM and drops queued data. No event follows for it.
  void reset(stream_ref s, error_code code) noexcept;
  // Server: sends GOAWAY(2^31-1) and PING, and the final GOAWAY when the PING is acknowledged (or on
  // drain_now(), or after limits::drain_timeout). Client: opens no new streams.
  void drain() noexcept;
  void drain_now() noexcept;
  // Counts GOAWAY and RST_STREAM frames from now on in `counts`, which must outlive this.
  void count_errors_in(error_counts& counts) noexcept { counts_ = &counts; }
  // Sends GOAWAY with this code and fails the connection; nothing is accepted afterwards.
  void fail(error_code code, std::string_view reason) noexcept;
  // Server: whether new streams may still arrive, between drain() and the final GOAWAY.
  [[nodiscard]] bool draining() const noexcept { return goaway_first_ && !failed_; }
  // Server: whether the peer has acknowledged the PING of the drain and no stream was opened since, so that
  // it has read everything sent to it except the final GOAWAY.
  [[nodiscard]] bool all_read() const noexcept { return all_read_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  // For the recorder.
  [[nodiscard]] const base::recorded_connection& events() const noexcept { return events_; }
  [[nodiscard]] stream_id received_stream() const noexcept { return frame_.id; }

  // --- memory
  // The memory that the engine holds at present, including set_kept(). An estimate for comparisons, not
  // exact.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // Frees the buffers of an idle connection; the next frames allocate them again. Call it between feeds. It
  // invalidates header_block_number().
  void release_idle_memory() noexcept;
  // Sets how many bytes of data received on s the user keeps.
  void set_kept(stream_ref s, std::size_t bytes) noexcept;
  // The queued bytes of streams with a complete response, which wait only for the peer to read them.
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return unread_bytes_; }
  // The total number of octets of DATA written into the output.
  [[nodiscard]] std::uint64_t data_sent() const noexcept { return data_sent_; }
  // Server: while on, new streams are refused with REFUSED_STREAM.
  void refuse_streams(bool on) noexcept { refusing_ = on; }
  // The pointer passed to open() or set_user() if the stream has not been released; else null.
  [[nodiscard]] void* user_of(stream_ref s) const noexcept {
    const stream* found = find(s);
    return found && !found->released ? found->user : nullptr;
  }

  // --- about the peer
  // Its SETTINGS_MAX_HEADER_LIST_SIZE. The user must not send larger header lists.
  [[nodiscard]] std::uint32_t peer_header_list_bytes() const noexcept { return peer_.header_list_bytes; }
  // Its SETTINGS_MAX_CONCURRENT_STREAMS; `unlimited` if it has set none.
  [[nodiscard]] std::uint32_t peer_max_concurrent_streams() const noexcept {
    return peer_settings_seen_ ? peer_.max_concurrent_streams : unlimited;
  }
  // Client: the number of streams that release() has reset before the peer had answered them in full.
  [[nodiscard]] std::uint64_t resets_sent() const noexcept { return pacing_ ? pacing_->sent : 0; }
  // The number of PINGs answered so far.
  [[nodiscard]] std::uint64_t pings_answered() const noexcept { return pings_answered_; }
  // The number of bytes that the connection's windows permit each side to send at present.
  [[nodiscard]] std::int64_t send_window_bytes() const noexcept { return send_.bytes(); }
  [[nodiscard]] std::int64_t receive_window_bytes() const noexcept { return receive_.open_bytes(); }
  // The number of PINGs sent for limits::keepalive.
  [[nodiscard]] std::uint64_t keepalives_sent() const noexcept { return alive_.pings(); }

  // --- output and time
  // Moves queued DATA into the output, one frame per stream in turn, until the output holds `max_bytes`.
  void produce(std::size_t max_bytes = 256u << 10) noexcept;
  // Whether there are queued frames that the windows permit to send.
  [[nodiscard]] bool has_queued() const noexcept {
    return !ready_free_.empty() || (!ready_data_.empty() && send_.available() > 0);
  }
  [[nodiscard]] base::output_buffer& output() noexcept { return output_; }
  // Call when all of the output has been taken to be sent. If it is never called, everything counts as sent.
  void output_taken() noexcept { kept_from_ = next_own_id_; }
  // Server: whether the output must not be sent yet. Until the client's preface is complete, the peer may
  // turn out to speak another protocol, and the output must then not be sent at all. Ends with the final
  // GOAWAY, too.
  [[nodiscard]] bool awaits_preface() const noexcept;
  // Server: nothing more is awaited, and the preface is incomplete.
  [[nodiscard]] bool ended_without_preface() const noexcept {
    return reading_ == phase::preface && (failed_ || goaway_final_);
  }
  // Server: how many bytes of the preface have arrived while it is incomplete; of a no_preface event, those
  // before its data.
  [[nodiscard]] std::size_t preface_bytes() const noexcept {
    return reading_ == phase::preface ? partial_bytes_ : 0;
  }
  // The time at which on_timeout() must be called next; `never` if nothing is pending.
  [[nodiscard]] time_point next_timeout() const noexcept;
  void on_timeout(time_point now) noexcept;

 private:
  enum class phase : std::uint8_t { preface, header, payload, pad_length, data, skip };
  enum class progress : std::uint8_t { event, again, starved };

  // --- incoming frames, and DATA
  progress read(event& e);
  CORACLE_COLD progress read_preface(event& e);
  progress read_header(event& e);
  CORACLE_COLD progress read_payload(event& e);
  CORACLE_COLD progress read_skipped();
  progress on_frame(bytes_view payload, event& e);
  progress begin_data();
  progress begin_data_payload(std::uint32_t pad);
  progress read_data(event& e);
  bytes_view take_input(std::size_t n) noexcept;
  [[nodiscard]] bytes_view whole_data(const stream& s, std::uint8_t flags,
                                      std::size_t bytes_max) const noexcept;
  void take_whole_data(bytes_view payload);

  // --- incoming HEADERS and CONTINUATION
  bool advance_block() noexcept;  // to the next field
  progress on_headers(bytes_view payload, event& e);
  CORACLE_COLD progress on_continuation(bytes_view payload, event& e);
  progress on_block(stream_id id, bytes_view bytes, event& e);
  progress on_new_stream(stream_id id, bytes_view bytes, event& e);
  progress deliver_block(stream& s, bytes_view bytes, http::header_kind kind, event& e);
  CORACLE_COLD progress refuse_block(stream* s, stream_id id, bytes_view bytes, error_code code,
                                     std::string_view reason);
  CORACLE_COLD progress refuse_huge_block();
  CORACLE_COLD progress refuse_begun_block(stream& s, error_code code, std::string_view reason);
  CORACLE_COLD void finish_block();
  void finish_block_checks(bool accept_excess = false);
  void check_block(bool accept_excess = false);
  void accept_length(stream& s);

  // --- incoming control frames: SETTINGS, PING, WINDOW_UPDATE and so on
  CORACLE_COLD progress on_priority(bytes_view payload);
  [[gnu::noinline]] progress on_rst_stream(bytes_view payload);
  CORACLE_COLD progress on_settings(bytes_view payload);
  CORACLE_COLD progress on_settings_ack();
  [[gnu::noinline]] progress on_ping(bytes_view payload);
  CORACLE_COLD progress on_goaway(bytes_view payload, event& e);
  [[gnu::noinline]] progress on_window_update(bytes_view payload);

  // --- outgoing headers, data and credit
  void enqueue(stream& s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool is_block,
               bool end_stream);
  void write_header_frame_start(stream& s);
  void number_own(stream& s);
  bool finish_header_block(bool end_stream);
  void send_turn(stream& s);
  bool send_data_frame(stream& s);
  void schedule(stream& s) noexcept;
  // subtract_from_sums() before and count() after a queue changes keep the sums up to date.
  void subtract_from_sums(const stream& s) noexcept;
  void count(const stream& s) noexcept;
  void count_data(std::size_t n) noexcept;
  void report_if_writable(stream& s) noexcept;
  bool end_sent(stream& s, stream_input input);
  void end_answered(stream& s);
  void return_connection_credit();
  void allow_updates(std::uint32_t n) noexcept;

  // --- outgoing control frames, each complete at once
  void write_rst_stream(stream_id id, error_code code);
  void write_window_update(stream_id id, std::uint32_t increment);
  void write_ping(std::uint64_t opaque, bool ack);
  void write_goaway(stream_id last, error_code code, std::string_view debug);
  bool answered(
      std::size_t n);  // after writing n bytes that answer a control frame; false if too many are unread

  // --- streams: finding, creating, closing, releasing
  [[nodiscard]] stream* find(stream_ref s) const noexcept { return streams_.find(s); }
  [[nodiscard]] stream* find_id(stream_id id) noexcept;
  [[nodiscard]] stream_state state_of(stream_id id) const noexcept;  // of a stream that is not in the index
  stream& make_stream(void* user);
  void number(stream& s, stream_id id);  // throws before anything has changed
  void advance(stream& s, stream_input input) noexcept;  // may destroy s if it is released
  void close(stream& s, stream_state end_state) noexcept;  // may destroy s if it is released
  void erase(stream& s) noexcept;
  void end(stream& s, stream_state end_state, error_code code, initiator by, std::string_view reason,
           bool unprocessed = false, bool with_connection = false) noexcept;
  CORACLE_COLD void stream_fault(stream* s, stream_id id, error_code code, std::string_view reason);
  [[nodiscard]] bool at_limit() const noexcept {
    return open_count_ >= std::min(peer_.max_concurrent_streams, limit_.own_open_streams);
  }
  // Schedules a slots event when the number of streams falls below the limit.
  void record_limit() noexcept {
    if (side_ == role::server) return;
    const bool is = at_limit();
    if (was_at_limit_ && !is && can_open()) slots_pending_ = pending_ = true;
    was_at_limit_ = is;
  }
  // Client: resets of streams that were released.
  struct reset_pacing {
    std::vector<stream_ref> delayed;  // in order; of some that have ended meanwhile, too
    std::size_t awaiting = 0;  // the open streams among them
    time_point retry_at = never;
    std::uint64_t sent = 0;
  };
  void cancel(stream& s);
  [[nodiscard]] bool may_reset_now(const stream& s) noexcept;
  CORACLE_COLD void cancel_later(stream& s);
  CORACLE_COLD void send_delayed_resets();

  // --- drains, failures, timers
  CORACLE_COLD void out_of_memory() noexcept;
  CORACLE_COLD void fail(error_code code, std::string_view reason, initiator by) noexcept;
  // unsent_from: a client's streams from this id on have not been sent.
  void end_everything(error_code code, std::string_view reason, initiator by,
                      stream_id unsent_from = ~stream_id{0}) noexcept;
  CORACLE_COLD progress connection_error(error_code code, std::string_view reason) noexcept;
  // For a frame that the state of its stream does not permit.
  CORACLE_COLD progress die_in_state(error_code code, const char* frame, stream_id id,
                                     stream_state in) noexcept;
  [[nodiscard]] bool is_drain_ping(std::uint64_t opaque) const noexcept;
  [[nodiscard]] bool answers_window_ping(std::uint64_t opaque) noexcept;
  [[nodiscard]] bool answers_keepalive(std::uint64_t opaque) noexcept;
  [[gnu::noinline]] bool take_pending(event& e);
  void send_keepalive();
  // Called when all input has been read. An incomplete header block or frame (except DATA) costs the peer
  // next to nothing and us a buffer, so it has a deadline. DATA is passed on as it arrives.
  void start_unfinished_timer() noexcept {
    const bool unfinished = partial_bytes_ != 0 || reading_ == phase::payload || block_id_ != 0;
    if (!unfinished) block_deadline_ = never;
    else if (block_deadline_ == never) block_deadline_ = deadline_after(now_, limit_.header_timeout);
  }

  // --- flood limits: false if the connection has failed because of them
  bool charge(token_bucket& bucket, token_rate rate, std::string_view reason);
  CORACLE_COLD bool charge_reset(stream_id id);
  CORACLE_COLD bool charge_control();
  CORACLE_COLD bool charge_empty();
  CORACLE_COLD bool charge_stray_block();

  // Records a frame that was written into the output.
  void frame_written(frame_type type, unsigned flags, stream_id id, std::size_t length) noexcept {
    events_.ring().frame_sent(events_.number(), static_cast<std::uint8_t>(type),
                              static_cast<std::uint8_t>(flags), id, length);
  }
  void record_value(frame_type type, bool sent, stream_id id, std::uint32_t value) noexcept {
    events_.ring().frame_value(events_.number(), static_cast<std::uint8_t>(type), sent, id, value);
  }

  const role side_;
  const base::recorded_connection events_;
  limits limit_;
  time_point now_;
  base::output_buffer output_;

  // Reading.
  bytes_view in_{};
  phase reading_;
  std::uint8_t partial_bytes_ = 0;  // of the preface, or of a frame header in `partial_`
  std::array<std::uint8_t, frame_header_bytes> partial_{};
  frame_header frame_{};
  std::vector<std::uint8_t> assembly_;  // a payload that arrived in pieces
  std::uint32_t data_left_ = 0;  // of the DATA frame, or of a frame that is skipped
  std::uint32_t pad_left_ = 0;
  stream* data_stream_ = nullptr;  // null: the payload is dropped

  // The current header block.
  header_reader reader_;
  std::vector<std::uint8_t> block_;  // of HEADERS with CONTINUATION
  stream_id block_id_ = 0;  // not 0: CONTINUATION must follow
  std::uint32_t block_frames_ = 0;
  bool block_ends_stream_ = false;
  bool block_depends_on_itself_ = false;
  bool block_open_ = false;  // a headers event was returned, and its fields have not all been decoded
  bool block_good_ = false;
  bool block_has_length_ = false;  // its content-length describes this message's DATA
  stream* block_stream_ = nullptr;

  // SETTINGS.
  settings_values peer_;
  bool peer_settings_seen_ = false;
  bool settings_acked_ = false;
  time_point settings_deadline_;
  // Of a frame or header block that has arrived in part; see limits::header_timeout.
  time_point block_deadline_ = never;

  // Streams.
  base::slab<stream, 8> streams_;
  stream_index index_;
  stream* recent_ = nullptr;  // in the index; the next frame is likely to be for it
  closed_streams closed_;
  std::size_t open_count_ = 0;  // not closed, with or without an id
  std::size_t unnumbered_count_ = 0;  // those among them that open() created and that have sent no HEADERS
  stream_id highest_peer_id_ = 0;
  stream_id fed_from_ = 0;  // highest_peer_id_ before this loop iteration, which has one time
  stream_id last_reported_id_ = 0;  // the highest id passed to the user
  stream_id next_own_id_ = 1;  // client
  stream_id kept_from_ = ~stream_id{0};  // client: streams from this id on are still in the output
  std::uint32_t stream_receive_bytes_;  // the receive window of new streams
  error_counts* counts_ = nullptr;  // null: nothing is counted
  std::unique_ptr<reset_pacing> pacing_;  // client: null until release() resets a stream

  // Sending.
  hpack::encoder encoder_;
  send_window send_;
  receive_window receive_;
  bdp_estimator path_;
  chunk_pool chunks_;
  std::size_t queued_bytes_ = 0;  // in the streams' queues; the part in complete queues:
  std::size_t unread_bytes_ = 0;
  std::size_t kept_bytes_ = 0;  // the streams' headers, and what their users keep
  std::uint64_t data_sent_ = 0;  // total octets of DATA
  base::intrusive_list<send_hook> ready_free_;  // streams whose next frame needs no window
  base::intrusive_list<send_hook> ready_data_;  // streams with data and an open stream window
  stream* header_block_stream_ = nullptr;  // between begin_headers() and end_headers()
  std::size_t header_block_at_ = 0;
  // The encoder's insertions before the headers; an invalid number if the block begins with a table size
  // update.
  std::uint64_t header_block_inserted_ = 0;
  std::size_t reserved_bytes_ = 0;
  bool credit_withheld_ = false;  // because of memory pressure
  bool refusing_ = false;  // new streams

  // Pending events.
  bool pending_ = false;  // one of these may be pending:
  base::intrusive_list<writable_hook> resets_;
  base::intrusive_list<writable_hook> writables_;
  bool settings_pending_ = false;
  bool slots_pending_ = false;
  bool failed_pending_ = false;
  bool was_at_limit_ = false;
  error_code failed_code_ = error_code::no_error;
  std::string_view failed_reason_{};
  std::unique_ptr<char[]> state_reason_;  // of die_in_state(): reasons of events refer to it

  // Shutdown. failed_by_ stands here because it needs no room of its own.
  bool failed_ = false;
  initiator failed_by_ = initiator::library;
  bool all_read_ = false;  // see all_read()
  bool peer_goes_away_ = false;
  bool draining_ = false;  // client: no new streams
  bool goaway_first_ = false;  // server: GOAWAY(2^31-1) was sent, the final one was not
  bool goaway_final_ = false;
  stream_id goaway_last_id_ = 0;
  stream_id drained_at_ =
      stream_id_max;  // the last stream when the drain began; stream_id_max if a stream was open
  time_point drain_deadline_ = never;
  std::uint64_t pings_answered_ = 0;
  keepalive alive_;
  ping_strikes strikes_;

  // Flood limits.
  token_bucket reset_tokens_;
  token_bucket early_reset_tokens_;
  token_bucket control_tokens_;
  token_bucket empty_tokens_;
  std::uint32_t update_allowance_ = 0;  // WINDOW_UPDATEs that our DATA may legitimately cause
  std::uint8_t ping_allowance_ = 0;  // PINGs that our DATA may legitimately cause
  std::uint32_t stray_allowance_ = 0;  // header blocks that may still arrive on streams that we have reset
  std::size_t answer_bytes_ = 0;
};

template <class F>
bool connection::read_fields(F f) {
  while (block_open_) {
    reader_.read_marked(f);
    if (!advance_block()) break;
    const field next = reader_.current();
    const std::uint32_t slot_to_set = f(next.slot, [&] { return next; });
    if (slot_to_set != 0 && next.slot == 0) set_slot(slot_to_set);
  }
  return block_good_;
}

}  // namespace coracle::http2
