#include "micro/canned_server.hpp"

#include "http2/frame.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace bench {

namespace http2 = coracle::http2;
using coracle::bytes_view;
using http2::frame_type;

namespace {

constexpr std::uint32_t window_bytes = 65535;  // at the start (RFC 9113 6.9.2)

template <class... Fields>
octets block_of(coracle::hpack::encoder& encoder, const Fields&... fields) {
  octets block(256);
  std::uint8_t* at = encoder.begin_block(block.data());
  ((at = encoder.encode(at, fields.first, fields.second, coracle::hpack::indexing::index)), ...);
  block.resize(static_cast<std::size_t>(at - block.data()));
  return block;
}

using field = std::pair<std::string_view, std::string_view>;

}  // namespace

canned_server::canned_server(std::size_t calls_per_batch, std::size_t name_bytes)
    : calls_(calls_per_batch), body_(canned_body(canned_message(name_bytes))) {
  add_frame(opening_, 4, http2::flag::none, 0, {});
  add_frame(opening_, 4, http2::flag::ack, 0, {});
  add_credit(opening_, http2::stream_id_max - window_bytes);
}

void canned_server::add_reply(std::uint32_t id) {
  const octets head = block_of(encoder_, field(":status", "200"), field("content-type", "application/grpc"));
  add_frame(batch_, 1, http2::flag::end_headers, id, head);
  add_frame(batch_, 0, http2::flag::none, id, body_);
  const octets trailers = block_of(encoder_, field("grpc-status", "0"));
  add_frame(batch_, 1, http2::flag::end_headers | http2::flag::end_stream, id, trailers);
}

bytes_view canned_server::next_batch() {
  batch_.clear();
  if (asked_.size() < calls_) return {};
  for (const std::uint32_t id : asked_) add_reply(id);
  // The credit that the requests used up, as servers return it at times.
  add_credit(batch_, static_cast<std::uint32_t>(calls_ * body_.size()));
  asked_.clear();
  return batch_;
}

bool canned_server::judge(bytes_view bytes) {
  if (!std::exchange(greeted_, true)) {
    if (!coracle::as_text(bytes).starts_with(http2::client_preface)) return false;
    bytes = bytes.subspan(http2::client_preface.size());
  }
  while (!bytes.empty()) {
    if (bytes.size() < http2::frame_header_bytes) return false;
    const http2::frame_header f = http2::read_frame_header(bytes.data());
    if (bytes.size() - http2::frame_header_bytes < f.length) return false;
    const bytes_view payload = bytes.subspan(http2::frame_header_bytes, f.length);
    bytes = bytes.subspan(http2::frame_header_bytes + f.length);
    if (f.type == frame_type::goaway) return true;  // the channel is closed
    if (f.type == frame_type::rst_stream) return false;
    if (f.type != frame_type::data) continue;
    if (!f.has(http2::flag::end_stream) || !std::ranges::equal(payload, body_)) return false;
    asked_.push_back(f.id);
  }
  return true;
}

}  // namespace bench
