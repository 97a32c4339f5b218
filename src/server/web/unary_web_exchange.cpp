#include "server/web/unary_web_exchange.hpp"

#include "base/if_memory_allows.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/fitted_status.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/web/http_status.hpp"
#include "server/call/server_call.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace coracle::server_internal {

using protocol::envelope_prefix_bytes;

base::output_buffer body_buffers::take() noexcept {
  base::output_buffer b;
  if (!spare_.empty()) {
    b = std::move(spare_.back());
    spare_.pop_back();
  }
  return b;
}

void body_buffers::give_back(base::output_buffer b) noexcept {
  constexpr std::size_t kept_buffers = 256;
  constexpr std::size_t kept_bytes = 16u << 10;  // of each
  if (b.capacity() == 0 || b.capacity() > kept_bytes || spare_.size() >= kept_buffers) return;
  b.clear();
  base::if_memory_allows([&] { spare_.push_back(std::move(b)); });
}

unary_web_exchange::unary_web_exchange(transport::exchange inner, const options& o)
    : web_exchange(inner),
      content_type_(protocol::connect::content_type_of(false, o.codec)),
      max_receive_bytes_(o.max_receive_bytes),
      watch_(*this, o.stall_time, o.stall_bytes),
      request_(body_buffers::here().take()),
      reply_(body_buffers::here().take()),
      compressed_(o.compressed),
      get_(o.get),
      headers_only_(o.headers_only) {}

unary_web_exchange::~unary_web_exchange() {
  body_buffers::here().give_back(std::move(request_));
  body_buffers::here().give_back(std::move(reply_));
}

// --- the request

void unary_web_exchange::receive(bytes_view bytes, bool end_stream) {
  if (delivered_) return;
  if (request_.empty()) {
    request_.reserve(envelope_prefix_bytes + bytes.size());
    request_.commit(envelope_prefix_bytes);
  }
  request_.append(bytes);
  inner_.consume(bytes.size());
  const std::size_t size = request_.size() - envelope_prefix_bytes;
  const bool too_large = size > max_receive_bytes_;  // the call reads it from the prefix
  if (!end_stream && !too_large) {
    watch_.arrived(bytes.size());
    if (size >= transport::large_message_bytes) set_kept(kept_bytes_);
    return;
  }
  watch_.stop();
  delivered_ = true;
  base::output_buffer body = std::exchange(request_, base::output_buffer());
  // An empty body is an empty message, which is never compressed.
  protocol::write_envelope_prefix(const_cast<std::uint8_t*>(body.pending().data()), compressed_ && size != 0,
                                  static_cast<std::uint32_t>(size));
  handler_->on_data(body.pending(), true);  // this may be gone
  body_buffers::here().give_back(std::move(body));
}

void unary_web_exchange::set_kept(std::size_t bytes) noexcept {
  kept_bytes_ = bytes;
  const std::size_t own = request_.capacity() + reply_.capacity();
  inner_.set_kept(bytes + (own >= transport::large_message_bytes ? own : 0));
}

// --- the response

bool unary_web_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool) {
  reply_.append({bytes.get(), n});
  return true;
}

namespace {

struct number_text {
  explicit number_text(std::uint64_t n) noexcept
      : size(static_cast<std::size_t>(std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr -
                                      digits.data())) {}
  [[nodiscard]] std::string_view view() const noexcept { return {digits.data(), size}; }
  std::array<char, 20> digits;
  std::size_t size;
};

}  // namespace

// The message is written where it is sent from. Its prefix, which this protocol does not have, overwrites the
// bytes before it, which commit_reply() restores.
std::uint8_t* unary_web_exchange::reserve_reply(std::size_t n) {
  const std::size_t size = n - envelope_prefix_bytes;
  if (size == 0 || get_ || has_cross_origin_fields() || !inner_.begin_headers()) return nullptr;
  inner_.add_field(":status", "200");
  inner_.add_field("content-type", content_type_);
  inner_.add_field("content-length", number_text(size).view());
  inner_.add_general_fields();
  inner_.end_headers(false);
  std::uint8_t* const room = inner_.reserve_data(size);
  if (!room) return reply_.reserve(n);
  overwritten_at_ = room - envelope_prefix_bytes;
  std::memcpy(overwritten_, overwritten_at_, envelope_prefix_bytes);
  return overwritten_at_;
}

void unary_web_exchange::commit_reply(std::size_t n) noexcept {
  if (overwritten_at_) {
    std::memcpy(overwritten_at_, overwritten_, envelope_prefix_bytes);
    inner_.commit_data(n - envelope_prefix_bytes, true);
  } else {
    reply_.commit(n);
    or_close([&] { inner_.write(reply_.pending().subspan(envelope_prefix_bytes), true); });
  }
  release();
}

void unary_web_exchange::send_response_end() {
  written_status s = read_written_status(block_);
  if (s.code == status_code::ok && reply_.size() >= envelope_prefix_bytes)
    return write_response(200, reply_content_type(), reply_.pending());
  write_failure(std::move(s));
}

std::string_view unary_web_exchange::trailer_prefix() const noexcept {
  return protocol::connect::trailer_prefix;
}

void unary_web_exchange::write_failure(written_status s) {
  const int http_status = protocol::web::to_http_status(s.code);
  const protocol::connect::error e = connect_error(std::move(s));
  const std::string json = protocol::connect::write_error(e.code, e.message, e.details);
  write_response(http_status == 200 ? 500 : http_status, protocol::connect::error_content_type,
                 as_bytes(json));
}

void unary_web_exchange::write_response(int http_status, std::string_view content_type, bytes_view body) {
  const bool ok = http_status == 200;
  const bool compressed = ok && body[0] != 0;
  if (ok) body = body.subspan(envelope_prefix_bytes);
  if (!inner_.begin_headers()) return;
  inner_.add_field(":status", number_text(static_cast<std::uint64_t>(http_status)).view());
  inner_.add_field("content-type", content_type);
  inner_.add_field("content-length", number_text(body.size()).view());
  // Whether the metadata has a field that is sent with this name.
  const auto has = [this](std::string_view name) {
    return sends_metadata(name) &&
           (initial_.contains(name) || (trailer_prefix().empty() && block_.contains(name)));
  };
  inner_.add_general_fields(has);
  if (get_) inner_.add_field("vary", "accept-encoding");
  if (!ok && !has("retry-after"))
    if (const std::string after = retry_after_of(block_); !after.empty())
      inner_.add_field("retry-after", after);
  std::size_t initial_bytes = 0;
  for (const auto& [name, value] : initial_)
    if (sends_metadata(name)) initial_bytes += protocol::grpc::list_bytes(name, value);
  std::size_t trailing_bytes = 0;
  for (const auto& [name, value] : block_)
    if (!is_status_field(name) && sends_metadata(name))
      trailing_bytes += trailer_prefix().size() + protocol::grpc::list_bytes(name, value);
  const bool with_initial = accepts(initial_bytes, "the initial metadata");
  const bool with_trailing =
      trailing_bytes == 0 ||
      accepts((with_initial ? initial_bytes : 0) + trailing_bytes, "the trailing metadata");
  for (const auto& [name, value] : initial_) {
    if (name.starts_with(':') || name == "content-type") continue;
    if (name == protocol::grpc::accept_encoding_header) {
      inner_.add_field("accept-encoding", value);
    } else if (name == protocol::grpc::encoding_header) {
      if (compressed) inner_.add_field(protocol::connect::unary_encoding_header, value);
    } else if (with_initial && sends_metadata(name)) {
      inner_.add_field(name, value);
    }
  }
  http::header_list trailers;
  std::string trailer;
  for (const auto& [name, value] : block_) {
    if (!with_trailing || is_status_field(name) || !sends_metadata(name)) continue;
    trailer.assign(trailer_prefix()).append(name);
    trailers.add(trailer, value);
    inner_.add_field(trailer, value);
  }
  if (has_cross_origin_fields()) {
    std::vector<std::string_view> names;
    for (const auto& field : initial_) names.push_back(field.name);
    for (const auto& field : trailers) names.push_back(field.name);
    add_cross_origin_fields(names);
  }
  inner_.end_headers(headers_only_);
  if (!headers_only_) inner_.write(body, true);
}

}  // namespace coracle::server_internal
