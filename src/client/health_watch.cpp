#include "client/health_watch.hpp"

#include "protocol/envelope.hpp"
#include "runtime/backend.hpp"

#include <cstring>

namespace coracle::client {

namespace {

constexpr std::uint8_t field_1_bytes = 0x0a;   // HealthCheckRequest.service
constexpr std::uint8_t field_1_varint = 0x08;  // HealthCheckResponse.status
constexpr std::uint8_t status_serving = 1;
constexpr std::string_view unimplemented = "12";
// Longer names are nobody's; their length would not fit into one byte.
constexpr std::size_t service_bytes_max = 127;

}  // namespace

health_watch::health_watch(loop& home, transport::connection& on, std::string_view service,
                           std::string_view scheme, std::string_view authority, health_watch_owner& owner)
    : home_(home),
      connection_(on),
      service_(service.substr(0, service_bytes_max)),
      scheme_(scheme),
      authority_(authority),
      owner_(owner) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<health_watch&>(t).start(); };
}

health_watch::~health_watch() {
  if (timer::holder) home_.disarm(*this);
  if (exchange_) exchange_.release();
}

void health_watch::start() noexcept {
  received_.clear();
  exchange_ = connection_.open(*this);
  if (!exchange_) return ended(false);  // at the server's limit
  send_question();
}

void health_watch::send_question() noexcept {
  if (!exchange_.begin_headers()) return;  // on_reset() follows
  exchange_.add_field(":method", "POST");
  exchange_.add_field(":scheme", scheme_);
  exchange_.add_field(":path", "/grpc.health.v1.Health/Watch");
  exchange_.add_field(":authority", authority_);
  exchange_.add_field("te", "trailers");
  exchange_.add_field("content-type", "application/grpc");
  exchange_.end_headers(false);
  const std::size_t message = service_.empty() ? 0 : 2 + service_.size();
  const std::size_t size = protocol::envelope_prefix_bytes + message;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  protocol::write_envelope_prefix(bytes.get(), 0, static_cast<std::uint32_t>(message));
  if (message > 0) {
    std::uint8_t* at = bytes.get() + protocol::envelope_prefix_bytes;
    *at++ = field_1_bytes;
    *at++ = static_cast<std::uint8_t>(service_.size());
    std::memcpy(at, service_.data(), service_.size());
  }
  exchange_.queue_data(std::move(bytes), size, true);
}

// --- the server's answers

void health_watch::on_headers(transport::header_source& fields, transport::block_kind,
                              bool end_stream) noexcept {
  bool no_such_service = false;
  transport::field f;
  while (fields.next(f))
    if (f.name == "grpc-status") no_such_service = f.value == unimplemented;
  if (!fields.ok()) return;  // on_reset() follows
  if (end_stream) ended(no_such_service);
}

void health_watch::on_data(bytes_view bytes, bool end_stream) noexcept {
  exchange_.consume(bytes.size());
  received_.insert(received_.end(), bytes.begin(), bytes.end());
  if (!read_answers() || end_stream) ended(false);
}

// Takes whole answers off received_. False for what is none.
bool health_watch::read_answers() noexcept {
  constexpr std::size_t prefix = protocol::envelope_prefix_bytes;
  while (received_.size() >= prefix) {
    const auto [flags, size] = protocol::read_envelope_prefix(received_.data());
    if (flags != 0 || size > answer_bytes_max) return false;
    if (received_.size() < prefix + size) return true;
    // Proto3 leaves the zero out: an empty answer is UNKNOWN.
    const bool serves =
        size >= 2 && received_[prefix] == field_1_varint && received_[prefix + 1] == status_serving;
    received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(prefix + size));
    pause_.reset();
    say(serves ? verdict::serving : verdict::not_serving);
  }
  return true;
}

void health_watch::on_reset(const transport::abnormal_end&) noexcept { ended(false); }

void health_watch::ended(bool has_no_such_service) noexcept {
  if (exchange_) exchange_.release();
  if (has_no_such_service) {
    home_.log().write(log_level::warning, "a server has no health service: it counts as one that serves");
    return say(verdict::serving);
  }
  home_.arm(*this, deadline_after(home_.now(), pause_.next(home_.io().random())));
  say(verdict::unknown);
}

void health_watch::say(verdict v) noexcept {
  if (says_ == v) return;
  says_ = v;
  owner_.on_health(*this);
}

}  // namespace coracle::client
