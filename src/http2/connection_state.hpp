// What a connection holds. (long on purpose: one state machine, whose parts share most of its members; the
// functions are in receive*.cpp, send.cpp, streams.cpp and ending.cpp)
#pragma once

#include "coracle/base/intrusive_list.hpp"
#include "coracle/base/output_buffer.hpp"
#include "coracle/base/slab.hpp"
#include "hpack/encoder.hpp"
#include "http2/bandwidth_delay.hpp"
#include "http2/closed_streams.hpp"
#include "http2/connection.hpp"
#include "http2/flow_window.hpp"
#include "http2/frame.hpp"
#include "http2/header_reader.hpp"
#include "http2/keepalive.hpp"
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
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle::http2 {

struct connection::state {
  enum class phase : std::uint8_t { preface, request_line, header, payload, pad_length, data, skip };
  enum class progress : std::uint8_t { event, again, starved };

  state(role r, const limits& l, time_point at);

  // --- receive.cpp: from bytes to frames, and DATA
  event next() noexcept;
  progress read(event& e);
  progress read_preface();
  progress read_request_line(bytes_view bytes);
  progress read_header(event& e);
  progress read_payload(event& e);
  progress read_skipped();
  progress on_frame(bytes_view payload, event& e);
  progress begin_data();
  progress begin_data_payload(std::uint32_t pad);
  progress read_data(event& e);
  bytes_view take_input(std::size_t n) noexcept;

  // --- receive_headers.cpp
  progress on_headers(bytes_view payload, event& e);
  progress on_continuation(bytes_view payload, event& e);
  progress on_block(stream_id id, bytes_view bytes, event& e);
  progress on_new_stream(stream_id id, bytes_view bytes, event& e);
  progress give_block(stream& s, bytes_view bytes, http::header_kind kind, event& e);
  progress refuse_block(stream* s, stream_id id, bytes_view bytes, error_code code, std::string_view reason);
  progress refuse_begun_block(stream& s, error_code code, std::string_view reason);
  bool next_field(field& out);
  void finish_block();
  void settle_block();
  void settle_good_block(stream& s);

  // --- receive_control.cpp
  progress on_priority(bytes_view payload);
  progress on_rst_stream(bytes_view payload);
  progress on_settings(bytes_view payload);
  progress on_settings_ack();
  progress on_ping(bytes_view payload, event& e);
  progress on_goaway(bytes_view payload);
  progress on_window_update(bytes_view payload);

  // --- send.cpp
  bool begin_headers(stream_ref ref);
  void add_field(std::string_view name, std::string_view value, indexing policy);
  void add_field(std::string_view name, std::string_view value, field_memo& memo);
  void end_headers(bool end_stream);
  bool send_block(stream_ref ref, bytes_view block, bool end_stream);
  std::uint8_t* reserve_data(stream_ref ref, std::size_t n);
  void commit_data(stream_ref ref, std::size_t n, bool end_stream);
  std::uint8_t* reserve_reply(stream_ref ref, const whole_reply& r);
  void commit_reply(stream_ref ref, const whole_reply& r);
  bool queue_data(stream_ref ref, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  void enqueue(stream& s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool is_block,
               bool end_stream);
  void want_writable(stream_ref ref, std::size_t low_bytes);
  void produce(std::size_t most_bytes);
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
  void consume(stream_ref ref, std::size_t n);
  void return_connection_credit();
  void allow_updates(std::uint32_t n) noexcept;

  // --- memory.cpp
  void set_kept(stream_ref ref, std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  void release_idle_memory() noexcept;

  // --- control_output.cpp: frames that are complete at once
  void write_rst_stream(stream_id id, error_code code);
  void write_window_update(stream_id id, std::uint32_t increment);
  void write_ping(std::uint64_t opaque, bool ack);
  void write_goaway(stream_id last, error_code code, std::string_view debug);
  bool answered(
      std::size_t n);  // an answer of n bytes to a control frame was written; false if it was one too many

  // --- streams.cpp
  [[nodiscard]] stream* find(stream_ref ref) noexcept { return streams.live(ref) ? &streams[ref] : nullptr; }
  [[nodiscard]] stream* find_id(stream_id id) noexcept;
  [[nodiscard]] stream_state state_of(stream_id id) const noexcept;  // of one that is not in the index
  stream& make_stream(void* user);
  void number(stream& s, stream_id id);  // throws before anything has changed
  void advance(stream& s, stream_input input) noexcept;  // s may be gone afterwards if it is released
  void close(stream& s, stream_state how) noexcept;      // likewise
  void erase(stream& s) noexcept;
  void end(stream& s, stream_state how, error_code code, initiator by, std::string_view reason,
           bool unprocessed = false) noexcept;
  void stream_fault(stream* s, stream_id id, error_code code, std::string_view reason);
  stream_ref open(void* user);
  void reset(stream_ref ref, error_code code);
  void release(stream_ref ref);
  [[nodiscard]] bool at_limit() const noexcept {
    return open_count >= std::min(peer.max_concurrent_streams, limit.own_open_streams);
  }
  [[nodiscard]] bool can_open() const noexcept;
  void note_limit() noexcept;

  // --- ending.cpp
  // Does f. When that finds no memory, the connection fails, and the value is T().
  template <class F>
  std::invoke_result_t<F> or_fail(F f) noexcept {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      out_of_memory();
      return std::invoke_result_t<F>();
    }
  }
  void out_of_memory() noexcept;
  void fail(error_code code, std::string_view reason, initiator by) noexcept;
  // unsent_from: a client's streams that have not left.
  void end_everything(error_code code, std::string_view reason, initiator by,
                      stream_id unsent_from = ~stream_id{0}) noexcept;
  progress die(error_code code, std::string_view reason) noexcept;
  void feed_end() noexcept;
  void drain();
  void drain_now();
  [[nodiscard]] bool is_drain_ping(std::uint64_t opaque) const noexcept;
  [[nodiscard]] bool answers_window_ping(std::uint64_t opaque) noexcept;
  [[nodiscard]] bool answers_keepalive(std::uint64_t opaque) noexcept;
  [[nodiscard]] time_point next_timeout() const noexcept;
  void on_timeout(time_point at);
  bool take_pending(event& e);
  void ask_if_alive();
  void watch_unfinished() noexcept;

  // --- floods: false when the connection has failed over it
  bool charge(token_bucket& bucket, token_rate rate, std::string_view reason);
  bool charge_reset(stream_id id);
  bool charge_control();
  bool charge_empty();
  bool charge_stray_block();

  const role side;
  limits limit;
  time_point now;
  base::output_buffer output;

  // Reading.
  bytes_view in{};
  phase reading;
  std::uint8_t partial_bytes = 0;  // of the preface, or of a frame header in `partial`
  union {
    std::array<std::uint8_t, frame_header_bytes> partial{};
    http2::request_line first_line;  // of a peer that sends no preface, and so no frame
  };
  frame_header frame{};
  std::vector<std::uint8_t> assembly;  // a payload that came in pieces
  std::uint32_t data_left = 0;         // of the DATA frame, or of one that is skipped
  std::uint32_t pad_left = 0;
  stream* data_stream = nullptr;       // null: nobody wants it

  // The header block in work.
  header_reader reader;
  std::vector<std::uint8_t> block;  // of HEADERS with CONTINUATION
  stream_id block_id = 0;           // not 0: CONTINUATION must follow
  std::uint32_t block_frames = 0;
  bool block_ends_stream = false;
  bool block_depends_on_itself = false;
  bool block_open = false;  // a headers event is out, and its fields are not yet all decoded
  bool block_good = false;
  bool block_has_length = false;  // its content-length describes this message's DATA
  stream* block_stream = nullptr;

  // SETTINGS.
  settings_values peer;
  bool peer_settings_seen = false;
  bool settings_acked = false;
  time_point settings_deadline;
  // Of the frame or header block that has come in part; see limits::header_timeout.
  time_point block_deadline = never;

  // Streams.
  base::slab<stream, 8> streams;
  stream_index index;
  closed_streams closed;
  std::size_t open_count = 0;       // not closed, numbered or not
  std::size_t unnumbered_count = 0; // of these: open() without HEADERS so far
  stream_id highest_peer_id = 0;
  stream_id fed_from = 0;           // what highest_peer_id was before this turn, which has one time
  stream_id last_given_id = 0;      // the highest that the user has got to see
  stream_id next_own_id = 1;        // client
  stream_id kept_from = ~stream_id{0};  // client: streams from here on have not left the output
  std::uint32_t stream_receive_bytes;  // the receive window of new streams

  // Sending.
  hpack::encoder encoder;
  send_window send;
  receive_window receive;
  bandwidth_delay path;
  chunk_pool chunks;
  std::size_t queued_bytes = 0;   // in the streams' queues; of these, in those that are complete:
  std::size_t unread_bytes = 0;
  std::size_t kept_bytes = 0;     // the streams' heads, and what their users keep
  std::uint64_t data_sent = 0;    // octets of DATA, ever
  base::intrusive_list<sending_hook> ready_free;  // streams whose next frame needs no window
  base::intrusive_list<sending_hook> ready_data;  // streams with data and a window of their own
  stream* head_stream = nullptr;                  // between begin_headers() and end_headers()
  std::size_t head_at = 0;
  std::size_t reserved_bytes = 0;
  bool credit_withheld = false;  // for want of memory,
  bool refusing = false;         // and no new streams

  // Events to come.
  bool pending = false;  // one of these may be:
  base::intrusive_list<telling_hook> resets;
  base::intrusive_list<telling_hook> writables;
  bool settings_pending = false;
  bool slots_pending = false;
  bool goaway_pending = false;
  bool failed_pending = false;
  bool was_at_limit = false;
  error_code goaway_code = error_code::no_error;
  bytes_view goaway_debug{};
  error_code failed_code = error_code::no_error;
  initiator failed_by = initiator::library;
  std::string_view failed_reason{};

  // The end.
  bool failed = false;
  bool peer_goes_away = false;
  bool draining = false;      // client: no new streams
  bool goaway_first = false;  // server: GOAWAY(2^31-1) is out, the final one is not
  bool goaway_final = false;
  stream_id goaway_last_id = 0;
  stream_id drained_at = stream_id_max;  // the last stream when the drain began; that value when one was open
  bool all_read = false;
  time_point drain_deadline = never;
  std::uint32_t pings_out = 0;
  std::uint64_t pings_answered = 0;
  keepalive alive;
  ping_strikes strikes;

  // Floods.
  token_bucket reset_tokens;
  token_bucket early_reset_tokens;
  token_bucket control_tokens;
  token_bucket empty_tokens;
  std::uint32_t update_allowance = 0;  // WINDOW_UPDATEs that our DATA may rightly call forth
  std::uint8_t ping_allowance = 0;  // PINGs, likewise
  std::uint32_t stray_allowance = 0;  // header blocks that may be under way on streams which we have reset
  std::size_t answer_bytes = 0;
};

}  // namespace coracle::http2
