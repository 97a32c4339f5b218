#include "server/web/rest_exchange.hpp"

#include "protocol/envelope.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/web/ascii.hpp"
#include "protocol/web/http_status.hpp"
#include "protocol/web/uri.hpp"
#include "rest/error_body.hpp"
#include "server/call/server_call.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace coracle::server_internal {

using protocol::envelope_prefix_bytes;

// --- the codec

rest_codec::rest_codec(const http_routes& routes, request_info::verb method, std::string target,
                       std::string_view content_type)
    : routes_(routes), target_(std::move(target)), content_type_(content_type) {
  match_ = routes_.find(method, protocol::web::split_target(target_).path);
}

status rest_codec::read(google::protobuf::Message& message, bytes_view from) const {
  decode_meter unlimited{std::numeric_limits<std::size_t>::max()};
  return read_metered(message, from, unlimited);
}

status rest_codec::read_metered(google::protobuf::Message& message, bytes_view from,
                                decode_meter& meter) const {
  rpc::json_cost cost{meter.cost_max};
  rest::rest_request r;
  r.cost = &cost;
  r.path_values = match_.raw_values();
  r.query = protocol::web::split_target(target_).query;
  r.content_type = content_type_;
  r.body = from;
  status outcome = route().binding.read_request(r, message);
  meter.cost = cost.used;
  return outcome;
}

status rest_codec::write(const google::protobuf::Message& message, std::string& to) const {
  rest::rest_reply reply;
  if (status s = route().binding.write_reply(message, reply); !s.ok()) return s;
  content_type_of_reply_ = std::move(reply.content_type);
  if (to.empty()) to = std::move(reply.body);
  else to.append(reply.body);
  return {};
}

namespace {

status status_of(written_status s) { return status(s.code, s.message, s.details); }

bool is_sent(const rest_options& o, std::string_view name) noexcept {
  return std::find(o.response_headers.begin(), o.response_headers.end(), name) != o.response_headers.end();
}

std::string number_of(int n) { return std::to_string(n); }

}  // namespace

// --- one reply

void rest_unary_exchange::write_failure(written_status s) {
  const int http_status = protocol::web::to_http_status(s.code);
  std::string body;
  rest::write_error_body(status_of(std::move(s)), body);
  write_response(http_status == 200 ? 500 : http_status, "application/json", as_bytes(body));
}

bool rest_unary_exchange::sends_metadata(std::string_view name) const noexcept {
  return is_sent(codec_.options(), name);
}

// --- streams

stream_form stream_form_of(std::string_view accept) noexcept {
  while (!accept.empty()) {
    std::string_view element = protocol::web::take_list_element(accept);
    element = protocol::web::trim(element.substr(0, element.find(';')));
    using protocol::web::equal_ignoring_case;
    if (equal_ignoring_case(element, "text/event-stream")) return stream_form::server_sent_events;
    if (equal_ignoring_case(element, "application/json")) return stream_form::json_array;
    if (protocol::rest::is_json_lines(element)) return stream_form::json_lines;
  }
  return stream_form::json_lines;
}

std::string_view content_type_of(stream_form form) noexcept {
  switch (form) {
    case stream_form::json_lines: return "application/x-ndjson";
    case stream_form::json_array: return "application/json";
    case stream_form::server_sent_events: return "text/event-stream";
    case stream_form::raw: break;
  }
  return "application/octet-stream";
}

void rest_stream_exchange::receive(bytes_view bytes, bool end_stream) {
  if (ended_) return inner_.consume(bytes.size());
  std::string envelopes;
  body_.append(as_text(bytes));
  if (!split_requests(envelopes, end_stream)) {
    ended_ = true;
    return call().cancel(
        status::invalid_argument("the body is neither one JSON value a line nor one JSON array"));
  }
  if (body_.text().size() > options_.max_receive_bytes) {  // the call reads it from the prefix
    ended_ = true;
    std::uint8_t prefix[envelope_prefix_bytes];
    protocol::write_envelope_prefix(prefix, 0, static_cast<std::uint32_t>(body_.text().size()));
    return handler_->on_data(prefix, true);
  }
  owe_credit(bytes.size(), envelopes.size());
  set_kept(kept_bytes_);
  ended_ = end_stream;
  // A stream may be idle between two messages, but not within one.
  if (body_.text().empty() || end_stream) watch_.stop();
  else watch_.arrived(bytes.size());
  if (!envelopes.empty() || end_stream) handler_->on_data(as_bytes(envelopes), end_stream);
}

void rest_stream_exchange::set_kept(std::size_t bytes) noexcept {
  kept_bytes_ = bytes;
  const std::size_t own = body_.text().capacity();
  inner_.set_kept(bytes + (own >= transport::large_message_bytes ? own : 0));
}

namespace {

void add_envelope(std::string& to, std::string_view message, bool compressed = false) {
  const std::size_t at = to.size();
  to.append(envelope_prefix_bytes, '\0');
  protocol::write_envelope_prefix(reinterpret_cast<std::uint8_t*>(to.data() + at), compressed,
                                  static_cast<std::uint32_t>(message.size()));
  to.append(message);
}

}  // namespace

bool rest_stream_exchange::split_requests(std::string& envelopes, bool end_stream) {
  if (options_.one_request || codec_.route().binding.has_raw_request()) {
    if (options_.one_request ? end_stream : !body_.text().empty()) {
      add_envelope(envelopes, body_.text(), options_.compressed && !body_.text().empty());
      body_.clear();
    }
    return true;
  }
  return body_.read(end_stream, [&](std::string_view value) { add_envelope(envelopes, value); });
}

std::uint8_t* rest_stream_exchange::reserve_data(std::size_t n) {
  reserved_.resize(n);
  return reinterpret_cast<std::uint8_t*>(reserved_.data());
}

void rest_stream_exchange::commit_data(std::size_t n, bool) noexcept {
  if (n < envelope_prefix_bytes) return;
  or_close([&] { write_message(std::string_view(reserved_).substr(envelope_prefix_bytes)); });
}

bool rest_stream_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool) {
  if (n >= envelope_prefix_bytes)
    write_message(as_text({bytes.get() + envelope_prefix_bytes, n - envelope_prefix_bytes}));
  return true;
}

void rest_stream_exchange::begin_body(std::string_view content_type) {
  begun_ = true;
  if (!inner_.begin_headers()) return;
  inner_.add_field(":status", "200");
  inner_.add_field("content-type", content_type);
  if (options_.form == stream_form::server_sent_events) inner_.add_field("cache-control", "no-store");
  inner_.add_general_fields(
      [this](std::string_view name) { return is_sent(codec_.options(), name) && initial_.contains(name); });
  std::vector<std::string_view> names;
  for (const auto& [name, value] : initial_) {
    if (!is_sent(codec_.options(), name)) continue;
    inner_.add_field(name, value);
    names.push_back(name);
  }
  add_cross_origin_fields(names);
  inner_.end_headers(false);
}

void rest_stream_exchange::write_text(std::string_view text, bool end_stream) {
  inner_.write(as_bytes(text), end_stream);
}

void rest_stream_exchange::write_message(std::string_view json) {
  const bool first = !begun_;
  if (options_.one_reply || options_.form == stream_form::raw) {
    if (first) begin_body(codec_.reply_content_type());
    return write_text(json, false);
  }
  if (first) begin_body(content_type_of(options_.form));
  std::string text;
  switch (options_.form) {
    case stream_form::json_lines: text.assign(json).append("\n"); break;
    case stream_form::json_array: text.append(first ? "[" : ",").append(json); break;
    case stream_form::server_sent_events:
      text.append("id: ").append(std::to_string(++event_number_));
      text.append("\ndata: ").append(json).append("\n\n");
      break;
    case stream_form::raw: break;
  }
  write_text(text, false);
}

void rest_stream_exchange::send_response_end() {
  written_status s = read_written_status(block_);
  const bool ok = s.code == status_code::ok;
  const int http_status = protocol::web::to_http_status(s.code);
  std::string error;
  if (!ok || options_.form == stream_form::server_sent_events)
    rest::write_error_body(status_of(std::move(s)), error);
  if (!begun_ && !ok) {
    begun_ = true;
    if (!inner_.begin_headers()) return;
    inner_.add_field(":status", number_of(http_status));
    inner_.add_field("content-type", "application/json");
    inner_.add_field("content-length", std::to_string(error.size()));
    if (const std::string after = retry_after_of(block_); !after.empty())
      inner_.add_field("retry-after", after);
    inner_.add_general_fields();
    add_cross_origin_fields({});
    inner_.end_headers(false);
    return write_text(error, true);
  }
  const bool empty = !begun_;
  if (empty) begin_body(content_type_of(options_.form));
  switch (options_.form) {
    case stream_form::json_lines:
      return write_text(ok || options_.one_reply ? "" : "{\"error\":" + error + "}\n", true);
    case stream_form::json_array:
      if (options_.one_reply) return write_text({}, true);
      return write_text((empty ? "[" : "") + (ok ? std::string() : ",{\"error\":" + error + "}") + "]", true);
    case stream_form::server_sent_events:
      return write_text("event: end\nid: " + std::string(end_event_id) + "\ndata: " + error + "\n\n", true);
    case stream_form::raw:
      if (ok) return write_text({}, true);
      // There is no other way to say that the bytes are incomplete.
      return inner_.reset(transport::error_code::internal_error);
  }
}

}  // namespace coracle::server_internal
