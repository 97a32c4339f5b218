#include "client/health_watch.hpp"

#include "base/repeated_line.hpp"
#include "client/attempt_end.hpp"
#include "coracle/coro/executor.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "runtime/backend.hpp"

#include <cstring>

namespace coracle::client {

namespace {

constexpr std::uint8_t field_1_bytes = 0x0a;   // HealthCheckRequest.service
constexpr std::uint8_t field_1_varint = 0x08;  // HealthCheckResponse.status
constexpr std::uint8_t status_serving = 1;
constexpr std::string_view watch_path = "/grpc.health.v1.Health/Watch";
// The maximum number of bytes of the varint that encodes a length.
constexpr std::size_t length_bytes = 5;

std::uint8_t* put_varint(std::uint8_t* at, std::size_t n) noexcept {
  for (; n >= 0x80; n >>= 7) *at++ = static_cast<std::uint8_t>(n | 0x80);
  *at++ = static_cast<std::uint8_t>(n);
  return at;
}

// One per loop, since each connection checks.
struct servers_without_health final : coro::attachment {
  repeated_line lines;
};

}  // namespace

health_watch::health_watch(loop& home, transport::connection& on, const health_question& question,
                           health_watch_owner& owner)
    : home_(home), connection_(on), question_(question), owner_(owner) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<health_watch&>(t).start(); };
}

health_watch::~health_watch() {
  if (timer::holder) home_.disarm(*this);
  if (exchange_) exchange_.release();
}

void health_watch::start() noexcept {
  if (says_ == verdict::failed) say(verdict::unknown);
  const call_credentials& by = question_.proof;
  if (!by) return ask({});
  if (!question_.secret) return failed(status::unauthenticated("call credentials are not sent in plaintext"));
  if (by.authorization()) {
    metadata bearer;
    if (bearer.add("authorization", *by.authorization())) return ask(bearer);
    return failed(status::unauthenticated("the token has characters that metadata do not permit"));
  }
  fetch_ = std::make_unique<credentials_fetch>(
      home_, by.source(), credentials_request(std::string(question_.authority), std::string(watch_path)),
      static_cast<credentials_waiter&>(*this), delayed_start());
}

void health_watch::credentials_came(const result<metadata>& got) noexcept {
  fetch_.reset();
  if (!got) return failed(got.status());
  ask(*got);
}

void health_watch::ask(const metadata& proof) noexcept {
  received_.clear();
  http_status_ = 0;
  exchange_ = connection_.open(*this);
  if (exchange_) return send_question(proof);
  pause();  // at the server's stream limit
  say(verdict::unknown);
}

void health_watch::send_question(const metadata& proof) noexcept {
  if (!exchange_.begin_headers()) return;  // on_reset() follows
  exchange_.add_field(":method", "POST");
  exchange_.add_field(":scheme", question_.scheme);
  exchange_.add_field(":path", watch_path);
  exchange_.add_field(":authority", question_.authority);
  exchange_.add_field("te", "trailers");
  exchange_.add_field("content-type", "application/grpc");
  protocol::grpc::for_each_wire_field(
      proof, [&](std::string_view name, std::string_view value) { exchange_.add_field(name, value); });
  exchange_.end_headers(false);
  const std::string_view service = question_.service;
  constexpr std::size_t prefix = protocol::envelope_prefix_bytes;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[prefix + 1 + length_bytes + service.size()]);
  std::uint8_t* at = bytes.get() + prefix;
  if (!service.empty()) {
    *at++ = field_1_bytes;
    at = put_varint(at, service.size());
    std::memcpy(at, service.data(), service.size());
    at += service.size();
  }
  const auto size = static_cast<std::size_t>(at - bytes.get());
  protocol::write_envelope_prefix(bytes.get(), 0, static_cast<std::uint32_t>(size - prefix));
  exchange_.queue_data(std::move(bytes), size, true);
}

// --- responses

void health_watch::on_headers(transport::header_source& fields, transport::block_kind kind,
                              bool end_stream) noexcept {
  protocol::grpc::response_headers said;
  if (!said.read(fields)) return;  // on_reset() follows
  const bool head = kind == transport::block_kind::head;
  if (head) http_status_ = said.http_status;
  if (end_stream) return ended(end_by_trailers(said, http_status_));
  if (head && (http_status_ != 200 || !said.grpc_content)) ended(end_by_foreign_head(said));
}

void health_watch::on_data(bytes_view bytes, bool end_stream) noexcept {
  exchange_.consume(bytes.size());
  received_.insert(received_.end(), bytes.begin(), bytes.end());
  if (!read_answers()) ended(status::internal("the response of the health service is not valid"));
  else if (end_stream) ended(status::unknown("the server ended the call without a grpc-status"));
}

// Removes complete messages from received_. Returns false if one is invalid.
bool health_watch::read_answers() noexcept {
  constexpr std::size_t prefix = protocol::envelope_prefix_bytes;
  while (received_.size() >= prefix) {
    const auto [flags, size] = protocol::read_envelope_prefix(received_.data());
    if (flags != 0 || size > answer_bytes_max) return false;
    if (received_.size() < prefix + size) return true;
    // Proto3 omits zero: an empty message is UNKNOWN.
    const bool serves =
        size >= 2 && received_[prefix] == field_1_varint && received_[prefix + 1] == status_serving;
    received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(prefix + size));
    pause_.reset();
    say(serves ? verdict::serving : verdict::not_serving);
  }
  return true;
}

void health_watch::on_reset(const transport::abnormal_end& end) noexcept { ended(end_by_reset(end)); }

void health_watch::ended(const status& why) noexcept {
  if (exchange_) exchange_.release();
  if (why.code() != status_code::unimplemented) return failed(why);
  home_.attached<servers_without_health>().lines.write(
      home_.log(), log_level::warning, home_.now(),
      "a server has no health service: it is treated as serving");
  say(verdict::serving);
}

// gRFC A17: the health is unknown, so calls use other servers until the next attempt.
void health_watch::failed(const status& why) noexcept {
  failure_ = why;
  pause();
  say(verdict::failed);
}

void health_watch::pause() noexcept {
  home_.arm(*this, deadline_after(home_.now(), pause_.next(home_.io().random())));
}

void health_watch::say(verdict v) noexcept {
  if (says_ == v) return;
  says_ = v;
  owner_.on_health(*this);
}

}  // namespace coracle::client
