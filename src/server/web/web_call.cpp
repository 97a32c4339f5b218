#include "server/web/web_call.hpp"

#include "protocol/connect/content_type.hpp"
#include "protocol/connect/encodings.hpp"
#include "protocol/connect/get_request.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/connect/timeout.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "protocol/rest/json_stream.hpp"
#include "protocol/web/ascii.hpp"
#include "protocol/web/uri.hpp"
#include "server/web/rest_exchange.hpp"
#include "server/web/web_exchange.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle::server_internal {

namespace {

using outcome = std::optional<std::variant<web_call, direct_response, plain_request>>;
namespace connect = protocol::connect;

// The path of a request to a method, without its query.
void find_row(request_info& r, const router& routes) {
  if (r.row) return;
  const std::string_view path = protocol::web::split_target(r.unknown_path).path;
  if (path.size() == r.unknown_path.size()) return;
  if (const auto index = routes.find_route(path)) r.row = &routes.at(*index);
}

web_call make_call(request_info& r, const call_request& request, received_metadata received,
                   const router& routes) {
  web_call c;
  c.request = request;
  c.fallback = routes.take_unknown_method(r.unknown_path, c.request.row);
  c.received = std::move(received);
  if (!c.request.row) c.refusal = status::unimplemented("the server has no such method");
  return c;
}

// The translator has taken over the exchange; without a call it gives it back.
struct give_up {
  void operator()(web_exchange* e) const noexcept { e->give_up(); }
};
template <class T>
using made_exchange = std::unique_ptr<T, give_up>;

void attach(web_call& c, web_exchange* translator) {
  c.translator = translator;
  c.exchange = translator->attach();
}

void attach_whole(web_call& c, unary_web_exchange* translator) {
  c.whole = translator;
  attach(c, translator);
}

unary_web_exchange::options body_options(const call_set& set, std::string_view codec, bool compressed) {
  unary_web_exchange::options body;
  body.codec = codec;
  body.compressed = compressed;
  body.max_receive_bytes = set.max_receive_bytes;
  body.stall_time = set.stall_time;
  body.stall_bytes = set.stall_bytes;
  return body;
}

outcome prepare_grpc_web(const transport::exchange& x, request_info& r, received_metadata& received,
                         const protocol::grpc_web::content& content, const router& routes) {
  const auto subtype = routes.find_subtype(content.subtype);
  if (!subtype) return std::nullopt;
  made_exchange<grpc_web_exchange> made(new grpc_web_exchange(x, content.text, content.subtype));
  call_request request = r.to_call();
  request.subtype = &routes.subtypes.at(*subtype);
  web_call c = make_call(r, request, std::move(received), routes);
  if (r.unknown_encoding) c.refusal = status::unimplemented("the server does not accept this grpc-encoding");
  else if (r.bad_timeout) c.refusal = status::internal("grpc-timeout is malformed");
  attach(c, made.release());
  return c;
}

// Reads the fields of the protocol, and leaves the metadata in `to`.
status read_connect_fields(call_request& r, const metadata& from, metadata& to, bool stream,
                           const web_call_options& o, bool has_version) {
  status refusal;
  r.received = encoding::identity;
  r.accepted = {};
  r.unknown_encoding = false;
  for (const auto& [name, value] : from) {
    if (name == connect::timeout_header) {
      const auto timeout = connect::parse_timeout(value);
      if (timeout) r.timeout = *timeout;
      else refusal = status::invalid_argument("connect-timeout-ms is malformed");
    } else if (name == connect::protocol_version_header) {
      has_version = true;
      if (value != connect::protocol_version)
        refusal = status::invalid_argument("connect-protocol-version must be 1");
    } else if (name == connect::encoding_header(stream)) {
      const auto e = connect::content_encoding(value, o.routes.encodings);
      if (e) r.received = *e;
      else r.unknown_encoding = true;
    } else if (name == connect::accept_encoding_header(stream)) {
      r.accepted = connect::parse_accept_encoding(value);
    }
    if (!connect::is_reserved_key(name)) to.add_received(name, value);
  }
  if (r.unknown_encoding) refusal = status::unimplemented("the server does not accept this content-encoding");
  if (o.web.require_connect_version && !has_version)
    refusal = status::invalid_argument(
        "the server requires the field connect-protocol-version: 1 (connect=v1 in the query of a GET "
        "request)");
  return refusal;
}

bool is_unary(const request_info& r) noexcept { return r.row && r.row->definition->kind == call_kind::unary; }

outcome prepare_connect(const transport::exchange& x, request_info& r, received_metadata& received,
                        const connect::content& content, const web_call_options& o, bool end_stream) {
  const router& routes = o.routes;
  const auto subtype = routes.connect_subtypes.find(content.codec);
  if (!subtype) return std::nullopt;
  if (!r.row && !routes.fallback()) return direct_response{404, "the server has no such method\n"};
  // A fallback service takes streams only.
  if (content.stream == is_unary(r))
    return direct_response{415, content.stream
                                    ? "a unary method requires the content-type application/CODEC\n"
                                    : "a stream requires the content-type application/connect+CODEC\n"};
  received_metadata kept = o.set.take_metadata();
  call_request request = r.to_call();
  request.subtype = &routes.connect_subtypes.at(*subtype);
  const status refusal = read_connect_fields(request, received.get(), kept.own(), content.stream, o, false);
  if (content.stream) {
    made_exchange<connect_stream_exchange> made(new connect_stream_exchange(x, content.codec));
    web_call c = make_call(r, request, std::move(kept), routes);
    if (!refusal.ok()) c.refusal = refusal;
    attach(c, made.release());
    return c;
  }
  const bool compressed = request.received != encoding::identity;
  made_exchange<unary_web_exchange> made(
      new unary_web_exchange(x, body_options(o.set, content.codec, compressed)));
  web_call c = make_call(r, request, std::move(kept), routes);
  if (!refusal.ok()) c.refusal = refusal;
  if (end_stream) c.message.emplace();
  attach_whole(c, made.release());
  return c;
}

// A GET request of the Connect protocol: its query has the protocol's version or a message.
bool is_connect_get(std::string_view query) noexcept {
  protocol::web::query_pair pair;
  while (protocol::web::take_query_pair(query, pair))
    if (pair.name == "connect" || pair.name == "message") return true;
  return false;
}

outcome prepare_connect_get(const transport::exchange& x, request_info& r, received_metadata& received,
                            const web_call_options& o) {
  const router& routes = o.routes;
  if (!is_unary(r) || !r.row->definition->no_side_effects)
    return direct_response{405, "only methods without side effects answer GET requests\n"}.field("allow",
                                                                                                 "POST");
  const std::string_view query = protocol::web::split_target(r.unknown_path).query;
  std::string reason;
  auto get = connect::parse_get_request(query, reason);
  received_metadata kept = o.set.take_metadata();
  call_request request = r.to_call();
  status refusal =
      read_connect_fields(request, received.get(), kept.own(), false, o, get && get->has_version);
  std::optional<std::uint32_t> subtype = 0;
  if (!get) {
    refusal = status::invalid_argument(reason);
    get.emplace().codec = connect::json_codec;
  } else if (subtype = routes.connect_subtypes.find(get->codec); !subtype) {
    return direct_response{415, "the server has no codec of the parameter encoding\n"};
  } else if (const auto e = connect::content_encoding(get->compression, routes.encodings)) {
    request.received = *e;
  } else {
    request.unknown_encoding = true;
    refusal = status::unimplemented("the server does not accept this compression");
  }
  request.subtype = &routes.connect_subtypes.at(*subtype);
  auto body = body_options(o.set, get->codec, request.received != encoding::identity);
  body.get = true;
  made_exchange<unary_web_exchange> made(new unary_web_exchange(x, body));
  web_call c = make_call(r, request, std::move(kept), routes);
  if (!refusal.ok()) c.refusal = refusal;
  c.message = std::move(get->message);
  attach_whole(c, made.release());
  return c;
}

// --- REST

// A media type of JSON, and UTF-8; of a stream, one of JSON lines, too.
bool is_json(std::string_view content_type, bool stream) {
  const auto type = protocol::web::trim(content_type.substr(0, content_type.find(';')));
  if (stream && protocol::rest::is_json_lines(type)) return true;
  const auto c = connect::parse_content_type(content_type);
  return c && !c->stream && c->codec == connect::json_codec;
}

constexpr std::string_view last_event_id_header = "last-event-id";

bool continues_events(const rest_options& o) noexcept {
  return std::find(o.request_headers.begin(), o.request_headers.end(), last_event_id_header) !=
         o.request_headers.end();
}

// 0 for what is no id of ours.
std::uint64_t event_number_of(std::string_view id) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() ? number : 0;
}

std::string_view path_of(const request_info& r) noexcept {
  return r.unknown_path.empty() ? std::string_view(r.row->definition->path)
                                : protocol::web::split_target(r.unknown_path).path;
}

// A request of a REST route, as far as a response without a call depends on it.
struct rest_request {
  const http_routes::rest_route& route;
  const metadata& fields;
  request_info::verb method;
  bool has_body;
  std::string_view content_type;

  [[nodiscard]] call_kind kind() const noexcept { return route.row->definition->kind; }
  // The body is one message.
  [[nodiscard]] bool is_one_message() const noexcept {
    return kind() == call_kind::unary || kind() == call_kind::server_streaming;
  }
  [[nodiscard]] std::optional<std::string_view> last_event() const {
    return fields.find(last_event_id_header);
  }
  [[nodiscard]] stream_form form_of_replies() const {
    return route.binding.has_raw_reply() ? stream_form::raw
                                         : stream_form_of(fields.find("accept").value_or(std::string_view()));
  }
};

// Whether the body can be read; sets its encoding if so.
std::optional<direct_response> refuse_body(const rest_request& r, encoding_set encodings, encoding& to) {
  if (!r.has_body) return std::nullopt;
  if (r.route.binding.takes_body() && !r.route.binding.has_raw_request() &&
      !is_json(r.content_type, !r.is_one_message()))
    return direct_response{415, "the body requires the content-type application/json\n"};
  const auto coding =
      connect::content_encoding(r.fields.find("content-encoding").value_or(std::string_view()), encodings);
  // RFC 9110 15.5.16: the field tells what would be accepted.
  if (!coding)
    return direct_response{415, "the server does not accept this content-encoding\n"}.field(
        "accept-encoding", protocol::grpc::accepted_encodings_text(encodings));
  if (!r.is_one_message() && *coding != encoding::identity)
    return direct_response{415, "the body of a stream of requests cannot have a content-encoding\n"}.field(
        "accept-encoding", "identity");
  to = *coding;
  return std::nullopt;
}

std::optional<direct_response> answer_without_call(const rest_request& r, const rest_options& o) {
  // A browser reconnects to a stream of events that has ended or was cut, and 204 stops it (HTML Standard
  // 9.2.3). Only a handler that reads the field can continue a stream that was cut.
  if (const auto last = r.last_event(); last && r.kind() == call_kind::server_streaming &&
                                        (*last == rest_stream_exchange::end_event_id || !continues_events(o)))
    return direct_response{204};
  // A method is not called for the headers of a stream alone, which need not be complete (RFC 9110 9.3.2).
  if (r.method != request_info::verb::head || r.kind() == call_kind::unary) return std::nullopt;
  direct_response headers{200};
  if (const stream_form form = r.form_of_replies(); form != stream_form::raw)
    headers.field("content-type", content_type_of(form));
  return headers;
}

// Makes the exchange of a call, whose messages have the form of `codec`, and sets what the call gets of it.
web_exchange* make_rest_exchange(const transport::exchange& x, const rest_request& r, bool compressed,
                                 const rest_codec& codec, const call_set& set, web_call& c) {
  auto body = body_options(set, "json", compressed);
  if (r.kind() == call_kind::unary) {
    body.headers_only = r.method == request_info::verb::head;
    body.get = body.headers_only || r.method == request_info::verb::get;
    auto* const unary = new rest_unary_exchange(x, body, codec);
    c.whole = unary;
    return unary;
  }
  rest_stream_exchange::options stream;
  stream.form = r.form_of_replies();
  if (const auto last = r.last_event()) stream.last_event_number = event_number_of(*last);
  stream.one_request = r.is_one_message();
  stream.compressed = compressed;
  stream.one_reply = r.kind() == call_kind::client_streaming;
  stream.max_receive_bytes = body.max_receive_bytes;
  stream.stall_time = body.stall_time;
  stream.stall_bytes = body.stall_bytes;
  auto* const made = new rest_stream_exchange(x, stream, codec);
  if (stream.one_request) c.whole = made;
  return made;
}

outcome prepare_rest(const transport::exchange& x, request_info& r, received_metadata& received,
                     const http_routes::rest_route& route, const web_call_options& o, bool end_stream) {
  const metadata& fields = received.get();
  const rest_request rest{route, fields, r.method, !end_stream, r.other_content_type};
  encoding coding = encoding::identity;
  if (auto refusal = refuse_body(rest, o.routes.encodings, coding)) return std::move(*refusal);
  if (auto response = answer_without_call(rest, o.http.options())) return std::move(*response);

  auto own = std::make_unique<fallback_call>();
  own->path = route.row->definition->path;
  auto codec = std::make_unique<rest_codec>(o.http, r.method,
                                            r.unknown_path.empty() ? std::string(path_of(r)) : r.unknown_path,
                                            r.other_content_type);
  const rest_codec& form = *codec;
  own->form = make_subtype("json", codec.get());
  own->form->unreadable = status_code::invalid_argument;
  own->codec = std::move(codec);

  web_call c;
  c.received = o.set.take_metadata();
  for (const std::string& name : o.http.options().request_headers)
    for (const std::string_view value : fields.find_all(name)) c.received.own().add_received(name, value);
  web_exchange* const made = make_rest_exchange(x, rest, coding != encoding::identity, form, o.set, c);
  // Nothing throws from here on. The call has no deadline of its client's.
  if (c.whole && end_stream) c.message.emplace();
  c.request.row = route.row;
  c.request.subtype = &*own->form;
  c.request.received = coding;
  c.request.connection_authority = r.connection_authority;
  c.request.other_authority = r.other_authority;
  c.fallback = std::move(own);
  attach(c, made);
  return c;
}

// Whether a POST request may be a call although its path has routes of other HTTP methods only: GET /** is a
// route of many paths. A body of JSON may belong to a plain request, too.
bool may_be_call(const request_info& r, const metadata& fields, bool many_paths, const router& routes) {
  if (r.method != request_info::verb::post) return false;
  if (r.row || routes.fallback() || protocol::grpc_web::parse_content_type(r.other_content_type) ||
      protocol::grpc::content_subtype(r.other_content_type))
    return true;
  const auto c = connect::parse_content_type(r.other_content_type);
  if (!c || (c->codec != connect::json_codec && !routes.connect_subtypes.find(c->codec))) return false;
  return many_paths || c->stream || c->codec != connect::json_codec ||
         fields.find(connect::protocol_version_header).has_value();
}

outcome find_route(const transport::exchange& x, request_info& r, received_metadata& received,
                   const web_call_options& o, bool end_stream) {
  using protocol::rest::match_outcome;
  const protocol::rest::route_match match = o.http.find(r.method, path_of(r));
  switch (match.outcome) {
    case match_outcome::not_found: return std::nullopt;
    case match_outcome::malformed: return direct_response{400, "the path has a broken percent-escape\n"};
    case match_outcome::method_not_allowed: {
      if (may_be_call(r, received.get(), o.http.serves_many_paths(path_of(r), match), o.routes))
        return std::nullopt;
      direct_response response{405, "the path has no such method\n"};
      if (r.method == request_info::verb::options) response = direct_response{204};
      return std::move(response).field("allow", o.http.allow(match));
    }
    case match_outcome::found: break;
  }
  if (const auto* const rest = o.http.rest_at(match.index))
    return prepare_rest(x, r, received, *rest, o, end_stream);
  if (r.row) return std::nullopt;  // the path of a method is no path of a plain route
  return plain_request{o.http.plain_at(match.index), match};
}

}  // namespace

outcome prepare_web_call(const transport::exchange& x, request_info& r, received_metadata& received,
                         const web_call_options& o, bool end_stream) {
  find_row(r, o.routes);
  if (!o.http.empty()) {
    if (outcome routed = find_route(x, r, received, o, end_stream)) return routed;
  }
  if (r.method == request_info::verb::get && r.row && o.web.connect) {
    if (!is_connect_get(protocol::web::split_target(r.unknown_path).query)) return std::nullopt;
    return prepare_connect_get(x, r, received, o);
  }
  if (r.method != request_info::verb::post || r.type != request_info::content::other) return std::nullopt;
  const std::string content_type = r.other_content_type;
  if (const auto web = protocol::grpc_web::parse_content_type(content_type); web && o.web.grpc_web)
    return prepare_grpc_web(x, r, received, *web, o.routes);
  if (const auto c = connect::parse_content_type(content_type); c && o.web.connect)
    return prepare_connect(x, r, received, *c, o, end_stream);
  return std::nullopt;
}

}  // namespace coracle::server_internal
