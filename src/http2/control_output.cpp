// Control frames, and the accounts of those that are answers.
#include "http2/connection.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http2 {

void connection::write_rst_stream(stream_id id, error_code code) {
  // The peer may have sent so many header blocks before it sees this: response, trailers, a 1xx, and one to spare.
  constexpr std::uint32_t blocks_on_their_way = 4;
  constexpr std::uint32_t most = 1u << 16;
  stray_allowance_ = std::min(stray_allowance_ + blocks_on_their_way, most);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 4);
  store_u32(write_frame_header(out, 4, frame_type::rst_stream, flag::none, id),
            static_cast<std::uint32_t>(code));
  output_.commit(frame_header_bytes + 4);
}

void connection::write_window_update(stream_id id, std::uint32_t increment) {
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 4);
  store_u32(write_frame_header(out, 4, frame_type::window_update, flag::none, id), increment);
  output_.commit(frame_header_bytes + 4);
}

void connection::write_ping(std::uint64_t opaque, bool ack) {
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 8);
  store_u64(write_frame_header(out, 8, frame_type::ping, ack ? flag::ack : flag::none, 0), opaque);
  output_.commit(frame_header_bytes + 8);
}

void connection::write_goaway(stream_id last, error_code code, std::string_view debug) {
  debug = debug.substr(0, 256);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 8 + debug.size());
  std::uint8_t* const payload = write_frame_header(out, 8 + debug.size(), frame_type::goaway, flag::none, 0);
  store_u32(payload, last);
  store_u32(payload + 4, static_cast<std::uint32_t>(code));
  if (!debug.empty()) std::memcpy(payload + 8, debug.data(), debug.size());
  output_.commit(frame_header_bytes + 8 + debug.size());
}

// Answers are what a peer can make us write for nothing; those that may still lie in the output are bounded
// (limits::output_bytes). The rest of the output is bounded by flow control and by who fills it.
bool connection::answered(std::size_t n) {
  const std::size_t before = output_.size() - std::min(n, output_.size());
  answer_bytes_ = std::min(answer_bytes_, before) + n;
  if (answer_bytes_ <= limit_.output_bytes) return true;
  fail(error_code::enhance_your_calm, "answers to control frames are not read", initiator::library);
  return false;
}

bool connection::charge(token_bucket& bucket, token_rate rate, std::string_view reason) {
  if (bucket.take(now_, rate)) return true;
  fail(error_code::enhance_your_calm, reason, initiator::library);
  return false;
}

// Only a client can make work by opening streams and having them reset: a server resets what we asked for.
bool connection::charge_reset(stream_id id) {
  if (side_ == role::client) return true;
  const token_rate early{limit_.early_resets_burst, limit_.early_resets_per_second};
  if (id > fed_from_ && !charge(early_reset_tokens_, early, "too many streams were reset as soon as opened"))
    return false;
  return charge(reset_tokens_, {limit_.resets_burst, limit_.resets_per_second},
                "too many streams were reset");
}
bool connection::charge_control() {
  return charge(control_tokens_, {limit_.control_frames_burst, limit_.control_frames_per_second},
                "too many control frames");
}
bool connection::charge_empty() {
  return charge(empty_tokens_, {limit_.empty_frames_burst, limit_.empty_frames_per_second},
                "too many empty frames");
}
bool connection::charge_stray_block() {
  if (stray_allowance_ == 0) return charge_control();
  --stray_allowance_;
  return true;
}

}  // namespace coracle::http2
