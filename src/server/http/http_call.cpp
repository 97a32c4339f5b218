#include "server/http/http_call.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/runtime/loop.hpp"
#include "http/header_validator.hpp"
#include "protocol/web/media_type.hpp"
#include "rpc/exception_text.hpp"
#include "runtime/repeated_lines.hpp"
#include "server/http/http_response_headers.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace coracle::server_internal {

namespace {

// A stream of pieces waits while more than this is unsent, until it has fallen to the lower value.
constexpr std::size_t unsent_high_bytes = 64u << 10;
constexpr std::size_t unsent_low_bytes = 16u << 10;

bool has_no_content(int status) noexcept { return status == 204 || status == 304; }

// The rule that the response breaks; empty if there is none.
std::string defect_of(const http_response& r) {
  if (r.status < 200 || r.status > 599)
    return "has the status " + std::to_string(r.status) + ": use 200 to 599";
  http::header_validator validator(http::header_kind::response);
  validator.check(":status", "200");
  for (const auto& [name, value] : r.headers) {
    if (name == "content-length")
      return "sets content-length, which the server sends: use http_response::content_length for a stream";
    if (const http::field_error e = validator.check(name, value); e != http::field_error::none)
      return "has an invalid header field, " + std::string(base::printable(name)) + ": " +
             std::string(to_string(e));
  }
  return {};
}

std::shared_ptr<http_request_data> data_of(const transport::exchange& x,
                                           const http_routes::plain_route& route,
                                           const protocol::rest::route_match& match, request_info& r,
                                           const metadata& received, call_set& set) {
  auto data = std::make_shared<http_request_data>();
  data->method = name_of(r.method);
  data->authority = r.authority();
  std::string cookies;
  if (!r.other_content_type.empty()) data->headers.add("content-type", r.other_content_type);
  for (const auto& [name, value] : received) {
    if (name == "cookie") cookies.append(cookies.empty() ? "" : "; ").append(value);
    else data->headers.add(name, value);
  }
  if (!cookies.empty()) data->headers.add("cookie", cookies);
  for (std::size_t i = 0; i < match.value_count; ++i) {
    const auto& variable = route.path.variables()[i];
    data->path_parameters.emplace_back(variable.field_path,
                                       protocol::rest::decode_variable(match.values[i], variable.several));
  }
  data->peer = x.peer_address();
  if (const auth_context* a = x.auth()) data->auth = a->shared_from_this();
  data->drain = set.draining.token();
  data->target = std::move(r.unknown_path);  // last: `match` borrows from it
  return data;
}

}  // namespace

http_call::http_call(transport::exchange x, const http_routes::plain_route& route,
                     const protocol::rest::route_match& match, request_info& r, received_metadata received,
                     std::unique_ptr<cross_origin> permission, call_set& set)
    : route_(route),
      set_(set),
      shared_(std::move(received)),
      request_(data_of(x, route, match, r, shared_.get(), set)),
      permission_(std::move(permission)),
      watch_(*this, set.stall_time, set.stall_bytes),
      began_(x.owner_loop().now()),
      headers_only_(r.method == request_info::verb::head) {
  received_ = &shared_.get();
  max_criticality_ = set.max_criticality;
  environment_.stop = stop_.token();
  environment_.call = static_cast<const rpc::propagated_context*>(this);
  // Nothing throws from here on.
  exchange_ = x;
  exchange_.set_handler(this);
  ++set_.count;
}

http_call::~http_call() = default;

// --- the request

void http_call::begin(bool end_stream) {
  if (end_stream) return start();
  if (!takes_content_type()) return reject(415, "the route does not take a body of this content-type\n");
}

bool http_call::takes_content_type() const {
  const auto value = request_->headers.find("content-type");
  const auto type = value ? protocol::web::parse_media_type(*value) : std::nullopt;
  if (!type) return false;
  const std::vector<std::string>& taken = route_.definition.content_types;
  if (taken.empty())
    return !type->is("application", "x-www-form-urlencoded") && !type->is("multipart", "form-data") &&
           !type->is("text", "plain");
  return std::any_of(taken.begin(), taken.end(), [&](const std::string& one) {
    const auto t = protocol::web::parse_media_type(one);
    return type->is(t->type, t->subtype);
  });
}

void http_call::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
  transport::field unused;
  while (fields.next(unused)) continue;
  if (fields.ok() && kind == transport::block_kind::trailers && end_stream) on_data({}, true);
}

void http_call::on_data(bytes_view bytes, bool end_stream) {
  std::string& body = request_->body;
  if (body.size() + bytes.size() > route_.definition.max_body_bytes)
    return reject(413, "the body exceeds the limit of the route, " +
                           std::to_string(route_.definition.max_body_bytes) +
                           " bytes (see http_route::max_body_bytes)\n");
  body.append(as_text(bytes));
  exchange_.consume(bytes.size());
  if (body.capacity() >= transport::large_message_bytes) exchange_.set_kept(body.capacity());
  if (!end_stream) return watch_.arrived(bytes.size());
  watch_.stop();
  start();
}

void http_call::on_slow_body() noexcept {
  if (base::if_memory_allows(
          [&] { reject(408, "the body arrived too slowly (see server_limits::stall_time)\n"); }))
    return;
  exchange_.reset(transport::error_code::enhance_your_calm);
  exchange_.release();
  end_call();
}

void http_call::reject(int status, std::string_view text) {
  http::header_list fields;
  fields.add("content-type", "text/plain; charset=utf-8");
  watch_.stop();
  write_headers(status, fields, text.size(), headers_only_);
  if (!headers_only_) write(text, true);
  exchange_.release();
  end_call();
}

void http_call::on_reset(const transport::abnormal_end&) noexcept {
  if (running_) {
    orphaned_ = true;
    ++set_.orphaned;
    base::if_memory_allows([&] {
      orphans_of_connection_ = exchange_.share_orphaned_calls();
      ++*orphans_of_connection_;
    });
  }
  exchange_.release();
  if (!running_) return end_call();
  stop_.request_stop();
}

// --- the handler and its response

// The body stays accounted until the end of the exchange.
void http_call::start() {
  if (exchange_.congested()) return exchange_.wait_until_uncongested();
  task<> t = serve();
  running_ = true;
  const auto frame = t.release();
  frame.promise().inherit(environment_);
  frame.promise().set_completion(*this);
  coro::promise_base::begin(frame, frame.promise());
}

std::coroutine_handle<> http_call::finished(coro::promise_base&, std::coroutine_handle<> frame) noexcept {
  frame.destroy();
  running_ = false;
  end_call();
  return std::noop_coroutine();
}

// Lets no exception pass.
task<> http_call::serve() {
  try {
    task<http_response> handling = route_.definition.handler(http_request(request_));
    http_response response = co_await std::move(handling);
    task<> responding = respond(std::move(response));
    co_await std::move(responding);
  } catch (...) {
    fail(std::current_exception());
  }
  if (exchange_) exchange_.release();
}

task<> http_call::respond(http_response response) {
  if (!exchange_) co_return;
  if (const std::string defect = defect_of(response); !defect.empty()) {
    fail(defect, "returned a response that " + defect);
    co_return;
  }
  const bool bodyless = headers_only_ || has_no_content(response.status);
  std::optional<std::uint64_t> length = response.content_length;
  if (!response.pieces) length = response.body.size();
  if (has_no_content(response.status)) length.reset();
  write_headers(response.status, response.headers, length, bodyless);
  if (bodyless) co_return;
  if (!response.pieces) {
    write(response.body, true);
    co_return;
  }
  task<> sending = send_pieces(response);
  co_await std::move(sending);
}

task<> http_call::send_pieces(http_response& response) {
  std::uint64_t sent_bytes = 0;
  while (true) {
    const std::optional<std::string> piece = co_await response.pieces->next();
    if (!exchange_) co_return;  // the generator has ignored its stop token
    if (piece) sent_bytes += piece->size();
    if (response.content_length &&
        (piece ? sent_bytes > *response.content_length : sent_bytes != *response.content_length)) {
      fail("content_length",
           "returned a stream whose pieces have another size than http_response::content_length, " +
               std::to_string(*response.content_length) + " bytes");
      co_return;
    }
    if (!piece) break;
    if (piece->empty()) continue;
    write(*piece, false);
    if (exchange_.queued() <= unsent_high_bytes) continue;
    writable_.reset();
    exchange_.want_writable(unsent_low_bytes);
    co_await writable_;
  }
  write({}, true);
}

void http_call::write_headers(int status, const http::header_list& fields,
                              std::optional<std::uint64_t> length, bool bodyless) {
  write_response_headers(exchange_, status, fields, length, permission_.get(), bodyless);
  status_ = status;
  complete_ = bodyless;
}

void http_call::write(std::string_view bytes, bool end_stream) {
  sent_bytes_ += bytes.size();
  complete_ = end_stream;
  if (std::uint8_t* const room = exchange_.reserve_data(bytes.size())) {
    if (!bytes.empty()) std::memcpy(room, bytes.data(), bytes.size());
    return exchange_.commit_data(bytes.size(), end_stream);
  }
  std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  exchange_.queue_data(std::move(copy), bytes.size(), end_stream);
}

void http_call::fail(const std::exception_ptr& error) noexcept {
  if (!exchange_ && coro::is_cancelled(error)) return;  // the client has gone
  base::if_memory_allows([&] { fail(rpc::exception_type(error), rpc::exception_text(error)); });
}

// kind: of the defect; each has a limit on its log lines of its own.
void http_call::fail(std::string_view kind, std::string_view reason) noexcept {
  base::if_memory_allows([&] {
    repeated_lines::write(*loop::current(), log_room::server, log_level::error, &set_,
                          route_.name() + " " + std::string(kind),
                          "the handler of " + route_.name() + " " + std::string(reason) + " (peer " +
                              request_->peer.to_string() + ")",
                          log_ids());
  });
  if (!exchange_) return;
  const bool answered = status_ == 0 && base::if_memory_allows([&] {
                          http::header_list fields;
                          fields.add("content-type", "text/plain; charset=utf-8");
                          constexpr std::string_view text = "the server failed to answer the request\n";
                          write_headers(500, fields, text.size(), headers_only_);
                          if (!headers_only_) write(text, true);
                        });
  if (!answered) exchange_.reset(transport::error_code::internal_error);
}

void http_call::notify_interceptors() const noexcept {
  const http_request request(request_);
  std::optional<log_trace> trace;
  base::if_memory_allows([&] { trace = log_ids(); });
  const finished_http_request end{.method = request_->method,
                                  .path = request.path(),
                                  .peer = request_->peer,
                                  .status = status_,
                                  .complete = complete_,
                                  .took = loop::current()->now() - began_,
                                  .received_bytes = request_->body.size(),
                                  .sent_bytes = sent_bytes_,
                                  .headers = *received_,
                                  .trace = trace};
  for (const auto& one : *set_.interceptors) one->on_http_end(end);
}

void http_call::end_call() noexcept {
  if (set_.interceptors) notify_interceptors();
  call_set& set = set_;
  if (orphaned_) --set.orphaned;
  if (orphans_of_connection_) --*orphans_of_connection_;
  set.give_back(std::move(shared_));
  delete this;
  set.call_ended();
}

}  // namespace coracle::server_internal
