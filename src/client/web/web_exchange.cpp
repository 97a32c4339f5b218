#include "client/web/web_exchange.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "client/call/attempt_result.hpp"
#include "client/call/response_fields.hpp"
#include "client/web/connect_exchange.hpp"
#include "client/web/grpc_web_exchange.hpp"
#include "client/web/observed_exchange.hpp"
#include "client/web/rest_exchange.hpp"
#include "http/field_rules.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "rpc/message_format.hpp"

#include <cstring>
#include <utility>

namespace coracle::client {

namespace {

using transport::block_kind;
using transport::header_source;

// The exchange of an attempt in a protocol, over that of HTTP. A null pointer is gRPC, over HTTP itself.
web_exchange* translator_of(const call_attempt& a, transport::exchange x, const wire_options& wire) {
  switch (wire.protocol) {
    case call_protocol::grpc: return nullptr;
    case call_protocol::grpc_web: return new grpc_web_exchange(x, a.terms(), false);
    case call_protocol::grpc_web_text: return new grpc_web_exchange(x, a.terms(), true);
    case call_protocol::rest: return new rest_exchange(x, a.terms(), wire.rest);
    case call_protocol::connect: break;
  }
  if (a.terms().unary) return new connect_unary_exchange(x, a.terms(), wire);
  return new connect_stream_exchange(x, a.terms());
}

// The status in trailers as gRPC sends them.
status status_in(const http::header_list& trailers) {
  protocol::grpc::response_headers last;
  header_source fields(trailers);
  return last.read(fields) ? status_of_trailers(last, 200) : status();
}

}  // namespace

void attach_behind(call_attempt& a, transport::exchange x, const call_target& target) noexcept {
  const bool made = base::if_memory_allows([&] {
    if (target.wire.observer) x = (new observed_exchange(x, *target.wire.observer))->attach(a);
    if (web_exchange* const translator = translator_of(a, x, target.wire)) x = translator->attach(a);
  });
  if (made) return a.attach(x, target);
  x.reset(transport::error_code::cancel);
  x.release();
  if (target.ends) target.ends->attempt_abandoned();
  a.unlink();
  a.fail(rpc::out_of_memory(), refusal::final);
}

web_exchange::web_exchange(transport::exchange inner, const call_terms& terms)
    : rewriting_filter(inner),
      unary_(terms.unary),
      codec_(terms.options.subtype().empty() ? std::string_view("proto") : terms.options.subtype()) {}

void web_exchange::release() noexcept {
  handler_ = nullptr;
  deferred_end_.unlink();
  inner_.release();
  if (callbacks_ == 0) destroy();
}

// --- the response

void web_exchange::on_headers(header_source& fields, block_kind kind, bool end_stream) {
  response_fields block;
  response_head head;
  if (!block.read(fields) || kind == block_kind::informational || finished_) return;
  const http::header_list& list = block.list;
  const callback guard(*this);
  // These protocols have no trailers in HTTP; a proxy may add some.
  if (kind == block_kind::trailers) return end_of_response();
  if (block.too_large) too_large_headers_bytes_ = block.bytes;
  if (const auto text = list.find(":status"))
    for (const char c : *text) head.http_status = head.http_status * 10 + (c - '0');
  head.content_type = list.find("content-type").value_or("");
  read_head(head, list);
  if (released() || finished_) return;
  if (end_stream) return end_of_response();
  if (rejection_) {
    const auto length = http::parse_content_length(list.find("content-length").value_or(""));
    if (!length || *length > rejected_body_bytes_max) fail(*rejection_);
    return;
  }
  if (response_.empty() || unary_) return;
  if (too_large_headers_bytes_ != 0) return finish(http::header_list(), true);
  deliver_headers();
}

void web_exchange::on_data(bytes_view bytes, bool end_stream) {
  const callback guard(*this);
  if (finished_ || rejection_) inner_.consume(bytes.size());
  else if (!bytes.empty()) receive(bytes);
  if (end_stream && !released()) end_of_response();
}

void web_exchange::end_of_response() {
  if (finished_) return;
  if (rejection_) return fail(*rejection_);
  end_body();
}

void web_exchange::on_writable() {
  const callback guard(*this);
  handler_->on_writable();
}

void web_exchange::on_reset(const transport::abnormal_end& end) noexcept {
  const callback guard(*this);
  deferred_end_.unlink();
  if (handler_) handler_->on_reset(end);  // releases this
  else release();
}

void web_exchange::accept_response(std::string_view content_subtype) {
  response_.clear();
  response_.add(":status", "200");
  response_.add("content-type", protocol::grpc::content_type_of(content_subtype));
}

void web_exchange::reject_response(const response_head& head, std::string_view expected) {
  std::string text = "the server answered with HTTP status " + std::to_string(head.http_status);
  if (head.http_status == 200) {
    text.append(head.content_type.empty() ? " without a content-type" : " and the content-type ");
    text.append(base::printable(head.content_type)).append(" in place of ").append(expected);
  }
  rejection_ = status(
      head.http_status == 200 ? status_code::unknown : protocol::grpc::from_http_status(head.http_status),
      text);
}

void web_exchange::deliver_headers() {
  headers_delivered_ = true;
  header_source fields(response_);
  handler_->on_headers(fields, block_kind::headers, false);
}

void web_exchange::deliver_data(bytes_view bytes) {
  if (!headers_delivered_) deliver_headers();
  if (released()) return;
  data_delivered_ = true;
  handler_->on_data(bytes, false);
}

void web_exchange::receive_frames(protocol::web::body_reader& reader, bytes_view bytes,
                                  std::string_view last) {
  using state = protocol::web::body_reader::state;
  const auto fail_with = [&](std::string_view before, std::string_view after) {
    fail(status::internal(std::string(before).append(last).append(after)));
  };
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    switch (reader.next(bytes)) {
      case state::messages:
        deliver_data(reader.messages());
        if (released()) return;
        break;
      case state::need_more:
      case state::last: consume(before - bytes.size()); break;
      case state::bytes_after_last: return fail_with("the response continues after its ", "");
      case state::last_too_large: return fail_with("the response's ", ", its last frame, exceeds 1 MiB");
      case state::bad_last_flag: return fail(status::internal("the response has a frame of an unknown kind"));
    }
  }
}

void web_exchange::fail(const status& reason) {
  http::header_list trailers;
  protocol::grpc::add_status(trailers, reason);
  finish(std::move(trailers), false);
}

void web_exchange::finish(http::header_list trailers, bool ok) {
  if (const std::uint64_t bytes = std::exchange(too_large_headers_bytes_, 0)) [[unlikely]] {
    const status found = ok ? status() : status_in(trailers);
    http::header_list changed;
    protocol::grpc::add_status(changed, outcome_without_fields(found, "response headers", bytes));
    for (const auto& [name, value] : trailers)
      if (!protocol::grpc::is_status_field(name)) changed.add(name, value);
    return finish(std::move(changed), false);
  }
  finished_ = true;
  merged_end_ = !ok && !headers_delivered_;
  if (merged_end_) {
    if (response_.empty()) accept_response(codec_);
    end_ = std::move(response_);
    for (const auto& [name, value] : trailers) end_.add(name, value);
  } else {
    if (!headers_delivered_) deliver_headers();
    if (released()) return;
    end_ = std::move(trailers);
  }
  if (data_delivered_ && inner_.defers_decoding()) return inner_.defer(deferred_end_);
  pass_end();
}

void web_exchange::pass_end() {
  header_source fields(end_);
  handler_->on_headers(fields, merged_end_ ? block_kind::headers : block_kind::trailers, true);
}

bool web_exchange::deferred_end::continue_decoding() noexcept {
  web_exchange& x = owner;
  const callback guard(x);
  x.or_close([&] { x.pass_end(); });
  return false;
}

}  // namespace coracle::client
