// connection: a sans-I/O HTTP/1.1 engine for one connection, in either role.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/http/header_list.hpp"
#include "http1/chunk_decoder.hpp"
#include "http1/field_section.hpp"
#include "http1/limits.hpp"
#include "http1/refusal.hpp"
#include "http1/start_line.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http1 {

enum class role : std::uint8_t { client, server };

// Borrows the fed bytes (or the engine's buffers) until the next call of next().
struct event {
  enum class kind : std::uint8_t {
    // All bytes fed have been processed, or the engine does not read on: see take_unread().
    none,
    // The headers of a message are in fields(). `informational` is set for 1xx responses, which have no
    // `end`.
    headers,
    // A piece of the body. Not empty.
    data,
    // The message is complete; trailers() holds its trailers.
    end,
    // The message or the connection is broken. The last event. A server answers with `status` and closes the
    // connection; with status 0 it closes without a response, because the peer speaks another protocol or the
    // response has begun.
    failed,
  };
  kind type = kind::none;
  bool informational = false;
  bool out_of_memory = false;  // of `failed`: it is no fault of the peer
  bool too_large = false;  // of `failed`: the headers or the trailers exceed a limit
  int status = 0;
  bytes_view data{};
  std::string_view reason{};  // static storage, for logs and for the body of the error response
};

// How the body of an outgoing message is delimited (RFC 9112 6).
struct framing {
  enum class kind : std::uint8_t { none, counted, chunked, until_close };
  kind type = kind::none;
  std::uint64_t length_bytes = 0;  // counted
};

// A pull parser (RFC 9112), like http2::connection. It makes no callbacks, does not block and does not read a
// clock.
//
//   engine.feed(bytes, now);
//   for (event e; (e = engine.next()).type != event::kind::none;) handle(e);
//   send(engine.output());
//
// One message at a time in each direction. A server does not read the next request before the response to
// this one is complete; a client must not begin a request before the last response is complete.
//
// The events and the failure are the same for every division of the input into pieces, except how `data` is
// divided.
class connection {
 public:
  connection(role r, const limits& l, time_point now);

  // --- receiving
  // Takes the next bytes. They must stay valid until next() has returned none.
  void feed(bytes_view bytes, time_point now) noexcept;
  event next() noexcept;
  // Server: while on, the next request is not begun.
  void hold_next_request(bool on) noexcept { holds_next_request_ = on; }
  // After next() returned none: the bytes that were not read, because the next request waits for the response
  // to this one or is held, or because a tunnel begins (client, CONNECT). Feed them again, before any others,
  // when exchange_done() and the next request is not held.
  [[nodiscard]] bytes_view take_unread() noexcept;
  // The peer has closed its sending side: ends a body that is delimited by the close; everything else that is
  // incomplete fails. Events follow. Call it when no bytes are left unread.
  void feed_end(time_point now) noexcept;

  // --- the message that is being received
  // In the form of HTTP/2: ":method", ":scheme" (of an absolute target, else none), ":authority" (from Host
  // or the target, unless it is empty), ":path" of a request (origin form; "*" for OPTIONS), ":status" of a
  // response first; names in lower case; hop-by-hop fields (Connection and those it names, Keep-Alive,
  // Proxy-Connection, TE except "trailers", Trailer, Transfer-Encoding, Upgrade, Host) and Expect are left
  // out. Valid until the next message begins.
  [[nodiscard]] const http::header_list& fields() const noexcept { return fields_; }
  // Without hop-by-hop fields.
  [[nodiscard]] const http::header_list& trailers() const noexcept { return trailers_; }
  // Whether the message has a body that is not empty, as far as its headers tell: `data` may follow.
  [[nodiscard]] bool has_body() const noexcept { return body_ != body_kind::none; }
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return head_.has_length ? std::optional(head_.length) : std::nullopt;
  }
  // The client waits for 100 (Continue), and has neither got it nor sent a part of the body.
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }
  // The response has no content: to the request that is received (server) or was sent (client).
  [[nodiscard]] bool is_head_request() const noexcept { return head_request_; }
  // Equal for two messages in a row whose headers have the same octets, else different; never 0. Headers
  // above limits::remembered_head_bytes are always different.
  [[nodiscard]] std::uint32_t headers_id() const noexcept { return headers_id_; }
  // Client: the reason phrase of the last response. Valid until the next one begins.
  [[nodiscard]] std::string_view reason_phrase() const noexcept { return reason_phrase_; }

  // --- sending. Functions that are not noexcept throw std::bad_alloc and then have no effect.
  void send_continue();  // server; does nothing unless expects_continue()
  // Server; also after `failed`. 1xx: framing none. The engine writes the framing, and `connection`: to
  // HTTP/1.0 a chunked body becomes one until the close, and a 1xx response is dropped.
  void begin_response(int status, framing body);
  // Client. Returns false, and has no effect, if the method is not a token, or the target or the authority
  // has a character that is not allowed in a URI. The target is in the form that is sent: a path, or an
  // authority for CONNECT.
  bool begin_request(std::string_view method, std::string_view target, std::string_view authority,
                     framing body);
  // Names in lower case. A field whose value has NUL, CR or LF, whose name is not a lower-case token, or that
  // the engine itself writes (content-length, transfer-encoding, connection, host and other hop-by-hop
  // fields) is dropped, and this returns false. `trailer` and `te` are sent.
  bool add_field(std::string_view name, std::string_view value);
  // A message with framing none is complete then; the others are at end_body().
  void end_headers();
  // n > 0 bytes of the body, with the framing of a chunk where needed: reserve, fill, commit. A body that
  // must not be sent, in response to HEAD and for 204 and 304, is dropped.
  std::uint8_t* reserve_body(std::size_t n);
  void commit_body(std::size_t n) noexcept;
  // trailers: sent with chunked framing only. May be null. If a counted body is incomplete, the connection
  // closes.
  void end_body(const http::header_list* trailers);
  [[nodiscard]] base::output_buffer& output() noexcept { return output_; }
  // Whether headers were begun in this exchange, other than those of 1xx responses.
  [[nodiscard]] bool message_begun() const noexcept { return sending_ != sending::idle; }

  // --- state
  // The response to this request and the request (server), or the request and its response (client), are
  // complete. A server drops the rest of a request whose response is complete, up to limits::drain_bytes;
  // neither its data nor its end is an event.
  [[nodiscard]] bool exchange_done() const noexcept { return exchange_done_; }
  // The connection must be closed when the exchange is done and the output is sent: by Connection: close on
  // either side, HTTP/1.0, an unread request body, a body that the close delimits, the end of the peer's
  // bytes, or a failure. The responses of a server say so if it is known when their headers end.
  [[nodiscard]] bool closes() const noexcept { return closes_; }
  void close_after_response() noexcept { closes_ = true; }  // drain
  // Whether a message has begun to arrive, or the response to a request is incomplete.
  [[nodiscard]] bool busy() const noexcept;
  // Client: whether a byte of the response has arrived. A request may be retried on another connection if
  // not.
  [[nodiscard]] bool response_begun() const noexcept { return arrived_; }
  [[nodiscard]] bool failed() const noexcept {
    return reading_ == reading::failing || reading_ == reading::failed;
  }

  // --- time and memory
  [[nodiscard]] time_point next_timeout() const noexcept;
  // May make an event `failed` (408) pending: call next() afterwards.
  void on_timeout(time_point now) noexcept;
  // Server: whether limits::body_timeout is enforced; on at first. Turn it off while the owner does not read,
  // or while a stream may be idle between two messages. The setting lasts until the next message begins.
  void enforce_body_timeout(bool on, time_point now) noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // Frees the buffers of an idle connection. Call it between exchanges, after next() returned none.
  void release_idle_memory() noexcept;

 private:
  enum class reading : std::uint8_t {
    idle,  // before the first octet of a message
    head,
    body,
    trailers,
    end,  // the event is due
    waiting,  // server: for the response to be complete; client: for a request
    tunnel,  // client: after a response to CONNECT
    closed,  // server: after the last response
    failing,  // the event is due
    failed,
  };
  enum class body_kind : std::uint8_t { none, counted, chunked, until_close };
  enum class sending : std::uint8_t { idle, interim, headers, body, done };
  enum class progress : std::uint8_t { event, again, starved };

  // What the headers of the last message say.
  struct message_head {
    std::uint64_t length = 0;
    int code = 0;  // client
    bool has_length = false;
    bool chunked = false;
    bool is_1_0 = false;
    bool is_head = false;
    bool close = false;
    bool keep_alive = false;
    bool names_fields = false;  // Connection has an option other than close and keep-alive
    bool expects_continue = false;
    bool has_host = false;
    bool other_coding = false;  // than chunked
    bool other_expectation = false;  // than 100-continue
  };

  progress read(event& e);
  progress begin_message();
  progress read_head(event& e);
  progress read_first_line(std::string_view line);
  progress accept_head(event& e, std::size_t bytes);
  progress start_message(event& e);
  void start_body() noexcept;
  progress start_response(event& e) noexcept;
  progress read_body(event& e);
  progress read_trailers();
  progress end_message(event& e) noexcept;
  [[nodiscard]] bool take_line(std::string_view& line, std::uint32_t limit);
  void finish_section(std::size_t bytes) noexcept;
  // In reading::head: whether the message that has begun consists of empty lines so far, which old clients
  // send after a body.
  [[nodiscard]] bool only_empty_lines() const noexcept { return held_.empty() && fields_at_ == 0; }
  [[nodiscard]] std::string_view section() const noexcept;

  refusal read_field(const field_line& f, std::string_view octets);
  refusal check_head() noexcept;
  void make_fields(std::string_view octets);
  void add_lower(http::header_list& to, std::string_view name, std::string_view value);
  [[nodiscard]] bool named_by_connection(std::string_view name, std::string_view octets) const noexcept;

  [[gnu::cold]] progress fail(int status, std::string_view reason) noexcept;
  progress fail(const refusal& r) noexcept { return fail(r.status, r.reason); }
  void finish_exchange() noexcept;
  void end_sending() noexcept;
  void start_body_timer() noexcept;

  const role side_;
  limits limit_;
  time_point now_;
  base::output_buffer output_;

  // Reading.
  bytes_view in_{};
  reading reading_;
  body_kind body_ = body_kind::none;
  bool at_end_ = false;  // the peer has closed its sending side
  bool arrived_ = false;  // a byte of the message
  bool expects_continue_ = false;
  bool head_request_ = false;
  bool connect_request_ = false;  // client
  bool exchange_done_ = false;
  bool closes_ = false;
  bool holds_next_request_ = false;
  // A section is the first line with the headers, or the trailers. It stands at the front of in_ while it is
  // complete there, else in held_.
  std::string held_;
  std::size_t scanned_ = 0;  // octets of the section in which no line end remains to be found
  std::size_t line_at_ = 0;  // the begin of its current line
  std::size_t fields_at_ =
      0;  // the begin of its field lines; 0 in the headers: the first line is not complete
  std::uint32_t empty_lines_ = 0;
  std::uint16_t interim_responses_ = 0;
  field_section section_;
  request_line request_{};
  status_line status_{};
  authority host_{};
  std::size_t host_at_ = 0;
  std::size_t host_bytes_ = 0;
  message_head head_;
  std::string remembered_;  // the octets of the last headers; empty: fields_ does not hold them
  std::uint32_t headers_id_ = 0;
  http::header_list fields_;
  http::header_list trailers_;
  std::string reason_phrase_;
  std::string name_;  // a long name in lower case
  std::uint64_t left_ = 0;  // of a counted body
  chunk_decoder chunks_;
  refusal failure_{};
  bool too_large_ = false;  // the reason of failure_

  // Time.
  time_point header_deadline_ = never;
  time_point body_deadline_ = never;
  std::uint64_t body_arrived_ = 0;  // octets since the body timer started
  bool enforce_body_ = true;
  bool restart_body_timer_ = false;

  // Sending.
  sending sending_ = sending::idle;
  framing out_{};
  int out_status_ = 0;
  bool out_bodyless_ = false;  // its body is dropped
  bool out_dropped_ = false;  // a 1xx response to HTTP/1.0
  bool out_needs_length_ = false;  // a request whose method usually has a body
  std::uint64_t out_left_ = 0;
  std::size_t reserved_ = 0;
  std::size_t chunk_digits_ = 0;
};

}  // namespace coracle::http1
