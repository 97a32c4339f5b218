#include "http1/connection.hpp"

#include "coracle/base/impl/assert.hpp"
#include "http/field_rules.hpp"
#include "http1/status_phrase.hpp"
#include "http1/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <new>

namespace coracle::http1 {

namespace {

constexpr std::string_view crlf = "\r\n";
constexpr std::string_view last_chunk = "0\r\n";
// Lengths above 2^63 - 1 overflow the numbers of many peers.
constexpr auto length_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
// What end_headers() writes at most: a length of 20 digits, a connection option and the empty line.
constexpr std::size_t framing_bytes_max = 96;

// RFC 9110 6.4.1: these responses have no content, whatever their fields say.
constexpr bool has_no_content(int status) noexcept { return status < 200 || status == 204 || status == 304; }

std::size_t hex_digits(std::size_t n) noexcept {
  std::size_t digits = 1;
  while (n >>= 4) ++digits;
  return digits;
}

class writer {
 public:
  explicit writer(std::uint8_t* at) noexcept : at_(at) {}
  writer& text(std::string_view t) noexcept {
    if (!t.empty()) std::memcpy(at_, t.data(), t.size());
    at_ += t.size();
    return *this;
  }
  writer& number(std::uint64_t n) noexcept {
    auto* const from = reinterpret_cast<char*>(at_);
    at_ += std::to_chars(from, from + 20, n).ptr - from;
    return *this;
  }
  writer& field(std::string_view name, std::string_view value) noexcept {
    return text(name).text(": ").text(value).text(crlf);
  }
  [[nodiscard]] std::size_t since(const std::uint8_t* begin) const noexcept {
    return static_cast<std::size_t>(at_ - begin);
  }

 private:
  std::uint8_t* at_;
};

bool may_send(std::string_view name, std::string_view value) noexcept {
  if (http::check_field_name(name) != http::field_error::none || !http::valid_value_characters(value))
    return false;
  switch (kind_of_field(name)) {
    case field_kind::regular:
    case field_kind::expect:
    case field_kind::te: return true;
    case field_kind::hop_by_hop: return name == "trailer";
    default: return false;
  }
}

}  // namespace

connection::connection(role r, const limits& l, time_point now)
    : side_(r), limit_(l), now_(now), reading_(r == role::server ? reading::idle : reading::waiting) {}

// --- receiving

void connection::feed(bytes_view bytes, time_point now) noexcept {
  CORACLE_ASSERT(in_.empty(), "bytes are fed before next() has returned none and take_unread() was called");
  in_ = bytes;
  now_ = now;
}

bytes_view connection::take_unread() noexcept {
  const bytes_view unread = in_;
  in_ = {};
  return unread;
}

event connection::next() noexcept {
  event e;
  try {
    while (read(e) == progress::again) {
    }
  } catch (const std::bad_alloc&) {
    static_cast<void>(fail(503, "there is no memory for the message"));
    static_cast<void>(read(e));
    e.out_of_memory = true;
  }
  return e;
}

connection::progress connection::read(event& e) {
  switch (reading_) {
    case reading::idle: return holds_next_request_ ? progress::starved : begin_message();
    case reading::head: return read_head(e);
    case reading::body: return read_body(e);
    case reading::trailers: return read_trailers();
    case reading::end: return end_message(e);
    case reading::waiting:
      if (side_ == role::client && !in_.empty()) return fail(0, "bytes that belong to no request");
      return progress::starved;
    case reading::failing:
      reading_ = reading::failed;
      in_ = {};
      e.type = event::kind::failed;
      e.status = failure_.status;
      e.too_large = too_large_;
      e.reason = failure_.reason;
      return progress::event;
    case reading::tunnel: return progress::starved;
    case reading::closed:
    case reading::failed: in_ = {}; return progress::starved;
  }
  return progress::starved;
}

connection::progress connection::fail(int status, std::string_view reason) noexcept {
  // Once a response has begun, another one cannot be sent.
  failure_ = {side_ == role::client || sending_ > sending::interim ? 0 : status, reason};
  too_large_ = status == 431;
  reading_ = reading::failing;
  closes_ = true;
  if (side_ == role::server && sending_ == sending::done) exchange_done_ = true;
  header_deadline_ = body_deadline_ = never;
  return progress::again;
}

void connection::feed_end(time_point now) noexcept {
  now_ = now;
  at_end_ = true;
  switch (reading_) {
    case reading::body:
      if (body_ == body_kind::until_close) {
        reading_ = reading::end;
        return;
      }
      [[fallthrough]];
    case reading::trailers: static_cast<void>(fail(400, "the connection ended within a body")); return;
    case reading::head:
      if (side_ == role::server && only_empty_lines()) {
        reading_ = reading::closed;
        header_deadline_ = never;
        break;
      }
      static_cast<void>(fail(fields_at_ > 0 ? 400 : 0, "the connection ended within headers"));
      return;
    case reading::idle:
      if (side_ == role::client) static_cast<void>(fail(0, "the connection ended before the response"));
      else reading_ = reading::closed;
      break;
    default: break;
  }
  closes_ = true;
}

connection::progress connection::begin_message() {
  if (in_.empty()) return progress::starved;
  arrived_ = true;
  if (side_ == role::server) {
    exchange_done_ = false;
    sending_ = sending::idle;
    expects_continue_ = head_request_ = false;
    enforce_body_ = true;
  }
  body_ = body_kind::none;
  empty_lines_ = 0;
  trailers_.clear();
  header_deadline_ = deadline_after(now_, limit_.header_timeout);
  reading_ = reading::head;
  scanned_ = line_at_ = fields_at_ = 0;
  section_.clear();
  return progress::again;
}

// --- lines

std::string_view connection::section() const noexcept {
  return held_.empty() ? as_text(in_) : std::string_view(held_);
}

// Finds the next line of the section, without its CRLF, and moves line_at_ behind it. Returns false if the
// input ends before the line does, or if the connection has failed. `limit` is that of the position behind
// the line.
bool connection::take_line(std::string_view& line, std::uint32_t limit) {
  static constexpr auto find = [](const char* from, std::size_t n) {
    return n == 0 ? nullptr : static_cast<const char*>(std::memchr(from, '\n', n));
  };
  const auto too_long = [&] {
    if (fields_at_ == 0) static_cast<void>(fail(414, "the first line is too long"));
    else if (reading_ == reading::head) static_cast<void>(fail(431, "the headers are too long"));
    else static_cast<void>(fail(431, "the trailers are too long"));
    return false;
  };
  if (!held_.empty()) {
    // What the section needs at most is copied, up to its next line end.
    const std::string_view fed =
        as_text(in_.first(std::min(in_.size(), limit + std::size_t{1} - held_.size())));
    const char* const feed_at = find(fed.data(), fed.size());
    const std::size_t n = feed_at ? static_cast<std::size_t>(feed_at - fed.data()) + 1 : fed.size();
    held_.append(fed.data(), n);
    in_ = in_.subspan(n);
    if (!feed_at) {
      if (held_.size() >= limit) return too_long();
      return false;
    }
    scanned_ = held_.size() - 1;
  }
  const std::string_view octets = section();
  const char* const end = find(octets.data() + scanned_, octets.size() - scanned_);
  if (!end) {
    if (octets.size() >= limit) return too_long();
    held_.assign(octets.data(), octets.size());
    in_ = {};
    scanned_ = held_.size();
    return false;
  }
  const auto at = static_cast<std::size_t>(end - octets.data());
  if (at >= limit) return too_long();
  line = octets.substr(line_at_, at - line_at_);
  scanned_ = line_at_ = at + 1;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
    return true;
  }
  // RFC 9112 2.2 allows a lenient recipient to accept it; a peer that does not would see other lines.
  if (fields_at_ == 0 && !line.empty() && !names_http(line)) static_cast<void>(fail(0, not_http(line)));
  else static_cast<void>(fail(400, "a line that ends with LF without CR"));
  return false;
}

void connection::finish_section(std::size_t bytes) noexcept {
  if (held_.empty()) in_ = in_.subspan(bytes);
  else held_.clear();
  scanned_ = line_at_ = fields_at_ = 0;
}

// --- headers

connection::progress connection::read_head(event& e) {
  // The same octets as those of the last headers say the same: they end with an empty line, so that none can
  // follow which belong to them.
  if (held_.empty() && line_at_ == 0 && !remembered_.empty() && in_.size() >= remembered_.size() &&
      std::memcmp(in_.data(), remembered_.data(), remembered_.size()) == 0) {
    in_ = in_.subspan(remembered_.size());
    return start_message(e);
  }
  std::string_view line;
  if (fields_at_ == 0) {
    if (in_.empty()) return progress::starved;
    // RFC 9112 2.2 tolerates control characters nowhere: a peer that begins with one, as TLS does, need not
    // end the line in order to be recognized.
    const auto first = static_cast<unsigned char>(held_.empty() ? in_.front() : held_.front());
    if ((first < ' ' && first != '\r' && first != '\n') || first >= 0x7f)
      return fail(0, not_http({reinterpret_cast<const char*>(&first), 1}));
    if (!take_line(line, limit_.line_bytes)) return failed() ? progress::again : progress::starved;
    return read_first_line(line);
  }
  for (;;) {
    const std::size_t at = line_at_;
    if (!take_line(line, static_cast<std::uint32_t>(fields_at_) + limit_.header_bytes))
      return failed() ? progress::again : progress::starved;
    if (line.empty()) return accept_head(e, line_at_);
    if (section_.size() == limit_.header_fields) return fail(431, "too many fields in the headers");
    if (const refusal wrong = section_.add(line, at)) return fail(wrong);
  }
}

connection::progress connection::read_first_line(std::string_view line) {
  if (side_ == role::server && line.empty()) {
    if (++empty_lines_ > limit_.empty_lines) return fail(400, "too many empty lines before a request");
    finish_section(line_at_);
    return progress::again;
  }
  const refusal wrong =
      side_ == role::server ? read_request_line(line, request_) : read_status_line(line, status_);
  if (wrong) return fail(wrong);
  fields_at_ = line_at_;
  return progress::again;
}

connection::progress connection::accept_head(event& e, std::size_t bytes) {
  const bool copied = !held_.empty();
  const std::string_view octets = section().substr(0, bytes);
  // What was read of the first line may refer to octets that have moved since.
  const std::string_view first = octets.substr(0, fields_at_ - crlf.size());
  if (copied && side_ == role::server) static_cast<void>(read_request_line(first, request_));
  if (copied && side_ == role::client) static_cast<void>(read_status_line(first, status_));
  head_ = {};
  for (const field_line& f : section_.lines())
    if (const refusal wrong = read_field(f, octets)) return fail(wrong);
  if (const refusal wrong = check_head()) return fail(wrong);

  const bool same = octets == remembered_;
  if (!same && ++headers_id_ == 0) headers_id_ = 1;
  remembered_.clear();  // in case that memory runs out below
  fields_.clear();
  make_fields(octets);
  if (side_ == role::client) reason_phrase_.assign(status_.reason);
  if (octets.size() <= limit_.remembered_head_bytes) remembered_.assign(octets);
  finish_section(bytes);
  return start_message(e);
}

// Reads the fields that concern the connection and the framing (RFC 9112 6 and 9).
refusal connection::read_field(const field_line& f, std::string_view octets) {
  const std::string_view value = f.value(octets);
  switch (f.kind) {
    case field_kind::regular:
    case field_kind::te:
    case field_kind::hop_by_hop: break;
    case field_kind::host:
      // RFC 9112 3.2
      if (head_.has_host) return {400, "Host occurs twice"};
      if (side_ == role::server && !read_authority(value, host_)) return {400, "Host is not valid"};
      head_.has_host = true;
      host_at_ = f.value_at;
      host_bytes_ = f.value_bytes;
      break;
    case field_kind::connection:
      each_element(value, [this](std::string_view option) {
        if (equal_ignoring_case(option, "close")) head_.close = true;
        else if (equal_ignoring_case(option, "keep-alive")) head_.keep_alive = true;
        else head_.names_fields = true;
        return true;
      });
      break;
    case field_kind::content_length: {
      if (head_.has_length) return {400, "Content-Length occurs twice"};
      const std::optional<std::uint64_t> length = http::parse_content_length(value);
      if (!length || *length > length_max) return {400, "Content-Length is not a valid number"};
      head_.has_length = true;
      head_.length = *length;
      break;
    }
    case field_kind::transfer_encoding: {
      refusal wrong;
      each_element(value, [&](std::string_view coding) {
        if (head_.chunked) wrong = {400, "a transfer coding after chunked"};
        else if (equal_ignoring_case(coding, "chunked")) head_.chunked = true;
        else if (!http::valid_token(coding.substr(0, coding.find(';'))))
          wrong = {400, "a malformed transfer coding"};
        else head_.other_coding = true;
        return !wrong;
      });
      if (wrong) return wrong;
      break;
    }
    case field_kind::expect:
      each_element(value, [this](std::string_view expectation) {
        if (equal_ignoring_case(expectation, "100-continue")) head_.expects_continue = true;
        else head_.other_expectation = true;
        return true;
      });
      break;
  }
  return {};
}

refusal connection::check_head() noexcept {
  if (side_ == role::server) {
    head_.is_1_0 = request_.is_1_0;
    head_.is_head = request_.method == "HEAD";
    if (!head_.has_host && !head_.is_1_0) return {400, "a request without Host"};
  } else {
    head_.is_1_0 = status_.is_1_0;
    head_.code = status_.code;
  }
  if (head_.chunked || head_.other_coding) {
    // RFC 9112 6.1: the peers on the way disagree on which of the two delimits the body.
    if (head_.has_length) return {400, "both Content-Length and Transfer-Encoding"};
    if (head_.is_1_0) return {400, "Transfer-Encoding in HTTP/1.0"};
    // RFC 9112 6.3
    if (!head_.chunked) return {400, "a Transfer-Encoding without chunked"};
    if (head_.other_coding) return {501, "a transfer coding that is not supported"};
  }
  if (side_ == role::client) return {};
  if (!request_.scheme.empty() && head_.has_host) {
    authority target;
    static_cast<void>(read_authority(request_.authority, target));
    if (!same_authority(target, host_, request_.scheme)) return {400, "Host contradicts the target"};
  }
  // RFC 9110 10.1.1: HTTP/1.0 has no expectations.
  if (head_.other_expectation && !head_.is_1_0) return {417, "an expectation other than 100-continue"};
  if (head_.has_length && head_.length > limit_.body_bytes) return {413, "the body is too long"};
  return {};
}

void connection::add_lower(http::header_list& to, std::string_view name, std::string_view value) {
  std::array<char, 64> room;
  char* lowered = room.data();
  if (name.size() > room.size()) {
    name_.resize(name.size());
    lowered = name_.data();
  }
  for (std::size_t i = 0; i < name.size(); ++i)
    lowered[i] = token_characters[static_cast<unsigned char>(name[i])];
  to.add({lowered, name.size()}, value);
}

// RFC 9110 7.6.1
bool connection::named_by_connection(std::string_view name, std::string_view octets) const noexcept {
  bool named = false;
  for (const field_line& f : section_.lines()) {
    if (f.kind != field_kind::connection) continue;
    each_element(f.value(octets), [&](std::string_view option) {
      named = named || (option.size() == name.size() &&
                        std::equal(option.begin(), option.end(), name.begin(),
                                   [](char a, char b) { return lower(a) == lower(b); }));
      return !named;
    });
    if (named) return true;
  }
  return false;
}

void connection::make_fields(std::string_view octets) {
  if (side_ == role::server) {
    fields_.add(":method", request_.method);
    if (!request_.scheme.empty()) fields_.add(":scheme", request_.scheme);
    const std::string_view named =
        request_.scheme.empty() ? octets.substr(host_at_, host_bytes_) : request_.authority;
    if (!named.empty()) fields_.add(":authority", named);
    if (request_.add_slash) {
      name_.assign("/").append(request_.path);
      fields_.add(":path", name_);
    } else {
      fields_.add(":path", request_.path);
    }
  } else {
    fields_.add(":status", status_.code_text);
  }
  for (const field_line& f : section_.lines()) {
    const std::string_view name = f.name(octets);
    const std::string_view value = f.value(octets);
    if (f.kind == field_kind::te) {
      if (equal_ignoring_case(value, "trailers")) fields_.add("te", "trailers");
      continue;
    }
    if (f.kind != field_kind::regular && f.kind != field_kind::content_length) continue;
    if (head_.names_fields && named_by_connection(name, octets)) continue;
    add_lower(fields_, name, value);
  }
}

// --- bodies

connection::progress connection::start_message(event& e) {
  header_deadline_ = never;
  e.type = event::kind::headers;
  if (side_ == role::client) return start_response(e);
  head_request_ = head_.is_head;
  // RFC 9112 9.3
  if (head_.close || (head_.is_1_0 && !head_.keep_alive)) closes_ = true;
  // RFC 9112 6.3: a request without either has no body.
  left_ = head_.length;
  body_ = head_.chunked ? body_kind::chunked : left_ > 0 ? body_kind::counted : body_kind::none;
  expects_continue_ = head_.expects_continue && !head_.is_1_0 && body_ != body_kind::none;
  start_body();
  return progress::event;
}

connection::progress connection::start_response(event& e) noexcept {
  const int code = head_.code;
  if (code < 200) {
    // RFC 9110 15.2.2: no upgrade was requested.
    if (code == 101) return fail(0, "101 (Switching Protocols) without a request for it");
    // RFC 9112 6.1, RFC 9110 8.6
    if (head_.chunked || (head_.has_length && head_.length > 0))
      return fail(0, "an interim response with a body");
    if (++interim_responses_ > limit_.interim_responses) return fail(0, "too many interim responses (1xx)");
    e.informational = true;
    reading_ = reading::idle;
    return progress::event;
  }
  // RFC 9112 9.3
  if (head_.close || (head_.is_1_0 && !head_.keep_alive)) closes_ = true;
  left_ = head_.length;
  if (connect_request_ && code < 300) {
    // RFC 9110 9.3.6: neither length applies; the tunnel begins.
    body_ = body_kind::none;
    closes_ = true;
  } else if (head_request_ || has_no_content(code)) {
    if (code == 204 && (head_.chunked || head_.length > 0)) return fail(0, "a response of 204 with a body");
    body_ = body_kind::none;
  } else if (head_.chunked) {
    body_ = body_kind::chunked;
  } else if (head_.has_length) {
    body_ = left_ > 0 ? body_kind::counted : body_kind::none;
    if (left_ > limit_.body_bytes) return fail(0, "the body is too long");
  } else {
    body_ = body_kind::until_close;
    closes_ = true;
    left_ = limit_.body_bytes;
  }
  start_body();
  return progress::event;
}

void connection::start_body() noexcept {
  reading_ = body_ == body_kind::none ? reading::end : reading::body;
  if (body_ == body_kind::none) return;
  if (body_ == body_kind::chunked) chunks_.start();
  start_body_timer();
}

connection::progress connection::read_body(event& e) {
  if (in_.empty()) return progress::starved;
  if (expects_continue_) {
    expects_continue_ = false;
    start_body_timer();
  }
  bytes_view piece;
  const std::size_t before = in_.size();
  switch (body_) {
    case body_kind::none: break;
    case body_kind::counted:
    case body_kind::until_close:
      if (left_ == 0) return fail(413, "the body is too long");  // until the close only
      piece = in_.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, in_.size())));
      in_ = in_.subspan(piece.size());
      left_ -= piece.size();
      if (left_ == 0 && body_ == body_kind::counted) reading_ = reading::end;
      break;
    case body_kind::chunked:
      switch (chunks_.next(in_, piece, limit_)) {
        case chunk_decoder::step::starved:
        case chunk_decoder::step::data: break;
        case chunk_decoder::step::refused: return fail(chunks_.reason());
        case chunk_decoder::step::last:
          reading_ = reading::trailers;
          section_.clear();
          break;
      }
      break;
  }
  body_arrived_ += before - in_.size();
  // The response is complete: the rest, which is at most drain_bytes, is dropped.
  if (side_ == role::server && sending_ == sending::done) return progress::again;
  if (piece.empty()) return progress::again;
  e.type = event::kind::data;
  e.data = piece;
  return progress::event;
}

connection::progress connection::read_trailers() {
  std::string_view line;
  for (;;) {
    const std::size_t at = line_at_;
    const std::size_t before = in_.size();
    fields_at_ = 1;  // lines of fields, not the first one
    const bool complete = take_line(line, limit_.trailer_bytes);
    body_arrived_ += before - in_.size();
    if (!complete) return failed() ? progress::again : progress::starved;
    if (line.empty()) break;
    if (section_.size() == limit_.header_fields) return fail(431, "too many fields in the trailers");
    if (const refusal wrong = section_.add(line, at)) return fail(wrong);
    // RFC 9110 6.5.1: a recipient that obeyed them would see another message.
    switch (section_.lines().back().kind) {
      case field_kind::content_length:
      case field_kind::transfer_encoding:
      case field_kind::host: return fail(400, "a field of the framing or of the target in trailers");
      default: break;
    }
  }
  const std::string_view octets = section();
  for (const field_line& f : section_.lines())
    if (f.kind == field_kind::regular) add_lower(trailers_, f.name(octets), f.value(octets));
  finish_section(line_at_);
  reading_ = reading::end;
  return progress::again;
}

connection::progress connection::end_message(event& e) noexcept {
  body_deadline_ = never;
  expects_continue_ = false;
  e.type = event::kind::end;
  const bool dropped = side_ == role::server && sending_ == sending::done;
  if (side_ == role::client && connect_request_ && head_.code < 300) reading_ = reading::tunnel;
  else reading_ = reading::waiting;
  if (sending_ == sending::done) finish_exchange();
  // A client that has not sent all of its request cannot send the next one.
  else if (side_ == role::client) closes_ = true;
  if (!dropped) return progress::event;
  e = {};
  return progress::again;
}

// The request and its response are complete, or the rest of the request is not read.
void connection::finish_exchange() noexcept {
  exchange_done_ = true;
  expects_continue_ = false;
  body_deadline_ = never;
  if (side_ == role::server) reading_ = closes_ || at_end_ ? reading::closed : reading::idle;
  if (at_end_) closes_ = true;
}

// --- sending

void connection::send_continue() {
  if (!expects_continue_ || sending_ > sending::interim) return;
  output_.append(as_bytes("HTTP/1.1 100 Continue\r\n\r\n"));
  expects_continue_ = false;
  start_body_timer();
}

void connection::begin_response(int status, framing body) {
  CORACLE_ASSERT(side_ == role::server && sending_ == sending::idle,
                 "a response is begun twice, or by a client");
  CORACLE_ASSERT(status >= 100 && status <= 999 && status != 101,
                 "a response has a status that is not valid");
  const std::string_view phrase = status_phrase(status);
  const bool interim = status < 200;
  // RFC 9110 15.2: HTTP/1.0 has no interim responses.
  out_dropped_ = interim && head_.is_1_0;
  std::uint8_t* const to = output_.reserve(16 + phrase.size());
  if (!out_dropped_)
    output_.commit(writer(to)
                       .text("HTTP/1.1 ")
                       .number(static_cast<std::uint64_t>(status))
                       .text(" ")
                       .text(phrase)
                       .text(crlf)
                       .since(to));
  out_status_ = status;
  out_ = body;
  // RFC 9112 7.1: HTTP/1.0 does not know chunks.
  if (body.type == framing::kind::chunked && head_.is_1_0) out_.type = framing::kind::until_close;
  out_bodyless_ = head_request_ || has_no_content(status);
  sending_ = interim ? sending::interim : sending::headers;
  if (out_.type == framing::kind::until_close && !out_bodyless_) closes_ = true;
}

bool connection::begin_request(std::string_view method, std::string_view target, std::string_view to,
                               framing body) {
  CORACLE_ASSERT(side_ == role::client && (reading_ == reading::waiting || failed()) &&
                     (sending_ == sending::idle || sending_ == sending::done),
                 "a request is begun before the last exchange is complete, or by a server");
  CORACLE_ASSERT(body.type != framing::kind::until_close,
                 "the body of a request cannot end with the connection");
  if (!http::valid_token(method) || target.empty() || !http::valid_uri_characters(target) ||
      !http::valid_uri_characters(to))
    return false;
  std::uint8_t* const at = output_.reserve(method.size() + target.size() + to.size() + 32);
  output_.commit(
      writer(at).text(method).text(" ").text(target).text(" HTTP/1.1\r\n").field("host", to).since(at));
  out_ = body;
  out_bodyless_ = out_dropped_ = false;
  out_needs_length_ = method == "POST" || method == "PUT" || method == "PATCH";
  head_request_ = method == "HEAD";
  connect_request_ = method == "CONNECT";
  sending_ = sending::headers;
  exchange_done_ = arrived_ = false;
  interim_responses_ = 0;
  if (failed()) return true;
  // Bytes that have arrived before their request would be taken for its response.
  if (!in_.empty()) static_cast<void>(fail(0, "bytes that belong to no request"));
  else if (at_end_) static_cast<void>(fail(0, "the connection ended before the response"));
  else reading_ = reading::idle;
  return true;
}

bool connection::add_field(std::string_view name, std::string_view value) {
  if (!may_send(name, value)) return false;
  if (out_dropped_) return true;
  std::uint8_t* const to = output_.reserve(name.size() + value.size() + 4);
  output_.commit(writer(to).field(name, value).since(to));
  return true;
}

void connection::end_headers() {
  const bool interim = sending_ == sending::interim;
  CORACLE_ASSERT(interim || sending_ == sending::headers, "headers end that were not begun");
  std::uint8_t* const to = output_.reserve(framing_bytes_max);
  writer w(to);
  const bool server = side_ == role::server;
  if (!interim && server) {
    const bool reads = reading_ == reading::body || reading_ == reading::trailers;
    // A client that waits for 100 may never send the body; a rest that is long, or of unknown length, is not
    // worth reading. A connection that closed later, without notice, would lose the next request.
    if (reads && (expects_continue_ || body_ == body_kind::chunked ||
                  (body_ == body_kind::counted && left_ > limit_.drain_bytes)))
      closes_ = true;
  }
  switch (out_.type) {
    case framing::kind::none:
      // RFC 9110 8.6. A response to HEAD would otherwise announce that GET has no content.
      if (server ? !out_bodyless_ : out_needs_length_) w.field("content-length", "0");
      break;
    case framing::kind::counted:
      // RFC 9110 8.6: not in 1xx and 204.
      if (!server || out_status_ == 304 || !has_no_content(out_status_))
        w.text("content-length: ").number(out_.length_bytes).text(crlf);
      break;
    case framing::kind::chunked:
      if (!server || !has_no_content(out_status_)) w.field("transfer-encoding", "chunked");
      break;
    case framing::kind::until_close: break;
  }
  if (!interim) {
    if (closes_) w.field("connection", "close");
    else if (server && head_.is_1_0) w.field("connection", "keep-alive");
  }
  w.text(crlf);
  if (!out_dropped_) output_.commit(w.since(to));
  out_left_ = out_.type == framing::kind::counted ? out_.length_bytes : 0;
  if (interim) {
    sending_ = sending::idle;
    out_dropped_ = false;
    if (out_status_ == 100) expects_continue_ = false;
  } else if (out_.type == framing::kind::none) {
    end_sending();
  } else {
    sending_ = sending::body;
  }
}

std::uint8_t* connection::reserve_body(std::size_t n) {
  CORACLE_ASSERT(sending_ == sending::body && n > 0,
                 "a body is sent that was not begun, or a piece without bytes");
  reserved_ = n;
  chunk_digits_ = 0;
  if (out_.type != framing::kind::chunked || out_bodyless_) return output_.reserve(n);
  chunk_digits_ = hex_digits(n);
  return output_.reserve(chunk_digits_ + n + 2 * crlf.size()) + chunk_digits_ + crlf.size();
}

void connection::commit_body(std::size_t n) noexcept {
  CORACLE_ASSERT(n <= reserved_, "more of a body is committed than was reserved");
  reserved_ = 0;
  if (n == 0) return;
  if (out_.type == framing::kind::counted) {
    CORACLE_ASSERT(n <= out_left_, "a body exceeds its length");
    out_left_ -= n;
  }
  if (out_bodyless_) return;
  if (chunk_digits_ == 0) {
    output_.commit(n);
    return;
  }
  // reserve() does not move memory that is already reserved. Fewer bytes than reserved leave leading zeros.
  std::uint8_t* const to = output_.reserve(chunk_digits_ + n + 2 * crlf.size());
  for (std::size_t i = chunk_digits_, rest = n; i-- > 0; rest >>= 4)
    to[i] = static_cast<std::uint8_t>("0123456789abcdef"[rest & 15]);
  writer(to + chunk_digits_).text(crlf);
  writer(to + chunk_digits_ + crlf.size() + n).text(crlf);
  output_.commit(chunk_digits_ + n + 2 * crlf.size());
}

void connection::end_body(const http::header_list* trailers) {
  if (sending_ == sending::done) return;
  CORACLE_ASSERT(sending_ == sending::body, "a body ends that was not begun");
  if (out_.type == framing::kind::chunked && !out_bodyless_) {
    std::size_t bytes = last_chunk.size() + crlf.size();
    if (trailers)
      for (const auto& [name, value] : *trailers) bytes += name.size() + value.size() + 4;
    std::uint8_t* const to = output_.reserve(bytes);
    writer w(to);
    w.text(last_chunk);
    if (trailers)
      for (const auto& [name, value] : *trailers)
        if (may_send(name, value)) w.field(name, value);
    output_.commit(w.text(crlf).since(to));
  }
  if (out_left_ > 0 && !out_bodyless_) closes_ = true;  // the peer sees that the body is cut
  end_sending();
}

void connection::end_sending() noexcept {
  sending_ = sending::done;
  if (side_ == role::client) {
    if (reading_ == reading::waiting || reading_ == reading::tunnel) finish_exchange();
    return;
  }
  switch (reading_) {
    case reading::waiting:
    case reading::failing:
    case reading::failed: break;
    case reading::end:
      // The event that is due is dropped with the rest.
    case reading::body:
    case reading::trailers:
      if (closes_) break;
      // The owner no longer reads it: only this timer limits how long it takes.
      enforce_body_ = true;
      if (reading_ != reading::end) start_body_timer();
      return;
    default: return;
  }
  if (failed()) exchange_done_ = true;
  else finish_exchange();
}

// --- state, time and memory

bool connection::busy() const noexcept {
  switch (reading_) {
    case reading::idle: return side_ == role::client;
    case reading::waiting:
      return side_ == role::server || (sending_ != sending::idle && sending_ != sending::done);
    case reading::failed:
    case reading::closed:
    case reading::tunnel: return sending_ != sending::idle && sending_ != sending::done;
    default: return true;
  }
}

void connection::start_body_timer() noexcept {
  // `now_` is that of the last feed. The first period begins when on_timeout() brings the time.
  body_arrived_ = 0;
  restart_body_timer_ = true;
  const bool runs = side_ == role::server && enforce_body_ && !expects_continue_;
  body_deadline_ = runs ? deadline_after(now_, limit_.body_timeout) : never;
}

void connection::enforce_body_timeout(bool on, time_point now) noexcept {
  now_ = now;
  enforce_body_ = on;
  const bool reads = reading_ == reading::body || reading_ == reading::trailers;
  if (reads) start_body_timer();
}

time_point connection::next_timeout() const noexcept { return std::min(header_deadline_, body_deadline_); }

void connection::on_timeout(time_point now) noexcept {
  now_ = now;
  if (header_deadline_ <= now) {
    static_cast<void>(fail(only_empty_lines() ? 0 : 408, "the headers did not arrive in time"));
    return;
  }
  if (body_deadline_ > now) return;
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::seconds>(limit_.body_timeout).count()));
  if (!restart_body_timer_ && body_arrived_ < seconds * limit_.body_bytes_per_second) {
    static_cast<void>(fail(408, "the body arrives too slowly"));
    return;
  }
  body_arrived_ = 0;
  restart_body_timer_ = false;
  body_deadline_ = deadline_after(now, limit_.body_timeout);
}

std::size_t connection::memory_bytes() const noexcept {
  return sizeof *this + output_.capacity() + held_.capacity() + section_.memory_bytes() +
         remembered_.capacity() + fields_.capacity_bytes() + trailers_.capacity_bytes() +
         reason_phrase_.capacity() + name_.capacity();
}

void connection::release_idle_memory() noexcept {
  if (busy()) return;
  output_.release(0);
  section_.release();
  fields_.release();
  trailers_.release();
  for (std::string* text : {&held_, &remembered_, &reason_phrase_, &name_}) std::string().swap(*text);
}

}  // namespace coracle::http1
