#include "client/web/rest_exchange.hpp"

#include "base/printable.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "rest/error_body.hpp"
#include "rpc/decompression.hpp"
#include "rpc/json_document.hpp"
#include "rpc/json_mapping.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace coracle::client {

namespace {

namespace grpc = protocol::grpc;
using protocol::envelope_prefix_bytes;
using protocol::connect::json_bytes_max;

// Of the body of an error that is not google.rpc.Status, for the message of the status.
constexpr std::size_t shown_body_bytes_max = 200;

void add_envelope(std::string& to, std::string_view message) {
  const std::size_t at = to.size();
  to.append(envelope_prefix_bytes, '\0');
  protocol::write_envelope_prefix(reinterpret_cast<std::uint8_t*>(to.data() + at), 0,
                                  static_cast<std::uint32_t>(message.size()));
  to.append(message);
}

// The status in {"error": {...}}, which ends a stream.
std::optional<status> error_in(std::string_view value, const google::protobuf::DescriptorPool* pool) {
  if (value.size() < 2 || value.find("\"error\"") > 3) return std::nullopt;
  const rpc::json_document document(value);
  const nlohmann::json& all = document.whole();
  if (!all.is_object() || all.size() != 1 || !all.contains("error")) return std::nullopt;
  return rest::read_error_body(all["error"].dump(), pool);
}

}  // namespace

rest_exchange::rest_exchange(transport::exchange inner, const call_terms& terms, const rest_table* methods)
    : web_exchange(inner, terms),
      method_(methods ? methods->find(terms.path) : nullptr),
      query_(methods ? methods->query() : std::string_view()),
      path_(terms.path),
      json_(codec() == protocol::connect::json_codec),
      max_receive_bytes_(terms.options.receive_limit()) {}

// --- the request

void rest_exchange::write_block() {
  if (!method_)
    fail_later(status::unimplemented(path_ + " has no rule of google.api.http in channel_options::rest"));
}

void rest_exchange::commit_data(std::size_t n, bool end_stream) noexcept {
  request_.commit(n);
  or_close([&] { send_messages(end_stream); });
}

bool rest_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  request_.append({bytes.get(), n});
  send_messages(end_stream);
  return true;
}

void rest_exchange::want_writable(std::size_t low_bytes) noexcept {
  if (sent_) inner_.want_writable(low_bytes);
}

void rest_exchange::send_messages(bool end_stream) {
  if (failure_) return request_.clear();
  const bool stream = method_->descriptor().client_streaming();
  while (true) {
    const bytes_view all = request_.pending();
    std::size_t size = 0;
    if (all.size() >= envelope_prefix_bytes)
      for (std::size_t i = 1; i < envelope_prefix_bytes; ++i) size = size << 8 | all[i];
    const bool whole = all.size() >= envelope_prefix_bytes && all.size() - envelope_prefix_bytes >= size;
    // A stream without a message has the path of an empty one.
    const bool empty_stream = stream && !sent_ && end_stream && all.empty();
    if (!whole && !empty_stream) break;
    if (!stream && !end_stream) return;  // the end of a single request may follow later
    std::string message(whole ? as_text(all.subspan(envelope_prefix_bytes, size)) : std::string_view());
    if (whole && all[0] != 0) {
      const auto e = encoding_named(block_.find(grpc::encoding_header).value_or(""));
      rpc::decompression d(e.value_or(encoding::identity));
      while (!d.step(as_bytes(message), std::numeric_limits<std::uint32_t>::max(),
                     std::numeric_limits<std::size_t>::max()))
        continue;
      message = as_text(d.body());
    }
    auto made = converted(message);
    if (!made.ok()) return fail_later(made.status());
    if (!std::exchange(sent_, true)) send_headers(*made);
    request_.consume(whole ? envelope_prefix_bytes + size : 0);
    if (empty_stream) break;
    if (stream && !method_->first().has_raw_request()) made->body.push_back('\n');
    const bool last = end_stream && request_.empty();
    if (!made->body.empty() || last) inner_.write(as_bytes(made->body), last);
    if (last) return;
  }
  if (end_stream && sent_) inner_.write({}, true);
}

result<rest::client_request> rest_exchange::converted(std::string_view message) const {
  const rest::rest_binding& first = method_->first();
  if (json_ && first.rule().body == "*" && first.path_fields().empty() && !first.has_raw_request()) {
    auto made = method_->write(*method_->make_request());
    if (made.ok()) made->body = message;
    return made;
  }
  const auto request = method_->make_request();
  if (json_ && !message.empty()) {
    if (status failed = rpc::read_json(*request, message); !failed.ok()) return failed;
  } else if (!request->ParseFromString(std::string(message))) {
    return status::internal("the request is not a message of its type");
  }
  return method_->write(*request);
}

std::string rest_exchange::target_with_query(const std::string& target) const {
  const std::size_t mark = target.find('?');
  std::string all = target.substr(0, mark);
  all.append("?").append(query_);
  if (mark != target.npos) all.append("&").append(target, mark + 1);
  return all;
}

void rest_exchange::send_headers(const rest::client_request& r) {
  if (!inner_.begin_headers()) return;
  const bool stream = method_->descriptor().client_streaming();
  for (const auto& [name, value] : block_) {
    if (name == ":method") inner_.add_field(name, r.method);
    else if (name == ":path" && !query_.empty()) inner_.add_field(name, target_with_query(r.target));
    else if (name == ":path") inner_.add_field(name, r.target);
    else if (name == "content-type") {
      if (stream && !method_->first().has_raw_request()) inner_.add_field(name, "application/x-ndjson");
      else if (!r.content_type.empty()) inner_.add_field(name, r.content_type);
    } else if (name != "te" && !name.starts_with(grpc::reserved_prefix)) {
      inner_.add_field(name, value);
    }
  }
  if (!block_.find("accept"))
    inner_.add_field("accept", method_->first().has_raw_reply()           ? "*/*"
                               : method_->descriptor().server_streaming() ? "application/x-ndjson"
                                                                          : "application/json");
  const bool has_no_body =
      !stream && r.content_type.empty() && r.method != "POST" && r.method != "PUT" && r.method != "PATCH";
  if (!stream && !has_no_body) inner_.add_field("content-length", std::to_string(r.body.size()));
  inner_.end_headers(has_no_body);
}

void rest_exchange::fail_later(status reason) {
  failure_ = std::move(reason);
  failing_.posted = true;
  failing_.run = [](coro::runnable& w) noexcept {
    rest_exchange& x = static_cast<failing&>(w).owner;
    x.failing_.posted = false;
    if (x.released()) return x.destroy();
    const callback guard(x);
    x.or_close([&] { x.fail(*x.failure_); });
  };
  inner_.owner_loop().post(failing_);
}

void rest_exchange::destroy() noexcept {
  if (!failing_.posted) delete this;
}

// --- the response

void rest_exchange::read_head(const response_head& head, const http::header_list& fields) {
  content_type_ = head.content_type;
  if (head.http_status < 200 || head.http_status > 299) error_status_ = head.http_status;
  else accept_response(codec());
  for (const auto& [name, value] : fields)
    if (name == grpc::retry_pushback_header || !protocol::connect::is_reserved_key(name))
      (error_status_ != 0 ? of_error_ : response_).add(name, value);
}

void rest_exchange::consume(std::size_t n) noexcept {
  if (const std::size_t more = credit_.give_back(n)) inner_.consume(more);
}

void rest_exchange::receive(bytes_view bytes) {
  if (error_status_ == 0 && method_->descriptor().server_streaming()) return pass_values(bytes, false);
  body_.append(as_text(bytes));
  inner_.consume(bytes.size());
  if (body_.text().size() > (error_status_ != 0 ? json_bytes_max : max_receive_bytes_)) end_body();
}

void rest_exchange::pass_values(bytes_view bytes, bool end) {
  std::string envelopes;
  std::optional<status> failed;
  const auto add = [&](std::string_view value) {
    if (failed) return;
    auto made = converted_reply(value);
    if (made.ok()) add_envelope(envelopes, *made);
    else failed = made.status();
  };
  if (method_->first().has_raw_reply()) {
    if (!bytes.empty()) add(as_text(bytes));
  } else {
    body_.append(as_text(bytes));
    const bool well_formed = body_.read(end, [&](std::string_view value) {
      if (!maybe_error_.empty()) add(std::exchange(maybe_error_, {}));
      if (error_in(value, method_->descriptor().file()->pool())) maybe_error_ = value;
      else add(value);
    });
    if (!well_formed)
      failed = status::internal("the response is neither one JSON value a line nor one JSON array");
    // The attempt reads from the prefix that the message is too large.
    if (body_.text().size() > max_receive_bytes_) {
      envelopes.append(envelope_prefix_bytes, '\0');
      protocol::write_envelope_prefix(
          reinterpret_cast<std::uint8_t*>(envelopes.data() + envelopes.size() - envelope_prefix_bytes), 0,
          static_cast<std::uint32_t>(body_.text().size()));
    }
  }
  if (const std::size_t n = credit_.owe(bytes.size(), envelopes.size())) inner_.consume(n);
  if (!envelopes.empty()) deliver_data(as_bytes(envelopes));
  if (failed && !released()) fail(*failed);
}

result<std::string> rest_exchange::converted_reply(std::string_view body) const {
  const rest::rest_binding& first = method_->first();
  if (json_ && !first.response_field() && !first.has_raw_reply()) return std::string(body);
  const auto reply = method_->make_reply();
  if (status failed = rest::read_client_reply(first, content_type_, as_bytes(body), *reply); !failed.ok())
    return failed;
  if (!json_) return reply->SerializePartialAsString();
  std::string text;
  if (status failed = rpc::write_json(*reply, text); !failed.ok()) return failed;
  return text;
}

void rest_exchange::end_with_error() {
  auto error = rest::read_error_body(body_.text(), method_->descriptor().file()->pool());
  if (!error || error->ok()) {
    std::string text = "the server answered with HTTP status " + std::to_string(error_status_);
    if (content_type_.starts_with("text/plain") && !body_.text().empty())
      text.append(": ").append(base::printable(body_.text(), shown_body_bytes_max));
    error = status(grpc::from_http_status(error_status_), text);
  }
  grpc::add_status(of_error_, *error);
  finish(std::move(of_error_), false);
}

void rest_exchange::end_body() {
  if (error_status_ != 0) return end_with_error();
  if (method_->descriptor().server_streaming()) {
    pass_values({}, true);
    if (released() || finished()) return;
    if (!maybe_error_.empty()) return fail(*error_in(maybe_error_, method_->descriptor().file()->pool()));
  } else {
    std::string envelope;
    if (body_.text().size() > max_receive_bytes_) {  // the attempt reads it from the prefix
      envelope.append(envelope_prefix_bytes, '\0');
      protocol::write_envelope_prefix(reinterpret_cast<std::uint8_t*>(envelope.data()), 0,
                                      static_cast<std::uint32_t>(body_.text().size()));
    } else {
      const auto reply = converted_reply(body_.text());
      if (!reply.ok()) return fail(reply.status());
      add_envelope(envelope, *reply);
    }
    body_.clear();
    deliver_data(as_bytes(envelope));
    if (released()) return;
  }
  http::header_list trailers;
  trailers.add(grpc::status_header, "0");
  finish(std::move(trailers), true);
}

}  // namespace coracle::client
