#include "micro/canned_client.hpp"

#include "http2/frame.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace bench {

namespace http2 = coracle::http2;
namespace hpack = coracle::hpack;
using coracle::bytes_view;
using hpack::indexing;
using http2::frame_type;

namespace {

// Calls that are rejected use none of it, and each batch adds what replies would use.
constexpr std::uint32_t credit_bytes = 1u << 30;

}  // namespace

canned_client::canned_client(client_style style, std::size_t calls_per_batch, std::size_t name_bytes)
    : style_(style), calls_(calls_per_batch), message_(canned_message(name_bytes)) {
  const bytes_view preface = coracle::as_bytes(http2::client_preface);
  opening_.assign(preface.begin(), preface.end());
  add_frame(opening_, 4, http2::flag::none, 0, {});
  add_frame(opening_, 4, http2::flag::ack, 0, {});
  add_credit(opening_, credit_bytes);
  add_call(opening_, next_id_);
  next_id_ += 2;
  if (!changes_table()) make_batch();
}

void canned_client::make_batch() {
  batch_.clear();
  ids_at_.clear();
  for (std::size_t i = 0; i < calls_; ++i) add_call(batch_, 0);
  // The credit that the replies used up, as clients return it at times.
  add_credit(batch_, static_cast<std::uint32_t>(calls_ * (5 + message_.size())));
}

void canned_client::add_call(octets& to, std::uint32_t id) {
  const auto add = [&](std::uint8_t type, std::uint8_t flags, const octets& payload) {
    if (&to == &batch_) ids_at_.push_back(to.size() + 5);
    add_frame(to, type, flags, id, payload);
  };
  add(1, http2::flag::end_headers, head());
  add(0, http2::flag::end_stream, canned_body(message_));
}

octets canned_client::head() {
  struct one {
    std::string_view name, value;
    indexing policy = indexing::index;
  };
  const bool all = style_ != client_style::nghttp2;
  const indexing rare = all ? indexing::index : indexing::no_index;
  const std::string length = std::to_string(5 + message_.size());
  std::vector<one> fields = {{":method", "POST"},
                             {":scheme", "http"},
                             {":path", "/helloworld.Greeter/SayHello", rare},
                             {":authority", "127.0.0.1:50051"},
                             {"content-type", "application/grpc"},
                             {"te", "trailers"},
                             {"user-agent", "a-client-of-some-kind/1.2.3"}};
  if (all) fields.push_back({"grpc-accept-encoding", "identity, deflate, gzip"});
  else fields.push_back({"content-length", length, rare});
  const std::string timeout = std::to_string(10'000'000 + heads_++) + "u";
  if (style_ == client_style::deadlines) fields.push_back({"grpc-timeout", timeout, indexing::no_index});
  if (changes_table()) fields.push_back({"grpc-timeout", timeout});
  const std::string trace =
      "00-" + std::string(24, 'a') + timeout.substr(0, 8) + "-00f067aa" + timeout.substr(0, 8) + "-01";
  if (style_ == client_style::traces) fields.push_back({"traceparent", trace});
  octets block(1024);
  std::uint8_t* at = encoder_.begin_block(block.data());
  for (const one& f : fields) at = encoder_.encode(at, f.name, f.value, f.policy);
  block.resize(static_cast<std::size_t>(at - block.data()));
  return block;
}

bytes_view canned_client::next_batch() {
  // The indexes of all entries have changed.
  if (changes_table()) make_batch();
  for (std::size_t i = 0; i < ids_at_.size(); i += 2) {
    http2::store_u32(batch_.data() + ids_at_[i], next_id_);
    http2::store_u32(batch_.data() + ids_at_[i + 1], next_id_);
    next_id_ += 2;
  }
  return batch_;
}

bool canned_client::judge(bytes_view bytes) {
  while (!bytes.empty()) {
    if (bytes.size() < http2::frame_header_bytes) return false;
    const http2::frame_header f = http2::read_frame_header(bytes.data());
    if (bytes.size() - http2::frame_header_bytes < f.length) return false;
    const bytes_view payload = bytes.subspan(http2::frame_header_bytes, f.length);
    bytes = bytes.subspan(http2::frame_header_bytes + f.length);
    if (f.type == frame_type::rst_stream && http2::load_u32(payload.data()) == 0)
      continue;  // of a rejected call
    if (f.type == frame_type::goaway || f.type == frame_type::rst_stream) return false;
    if (f.type == frame_type::data) {
      if (payload.size() != 5 + message_.size() || !std::ranges::equal(payload.subspan(5), message_))
        return false;
      echoed_ = f.id;
    }
    if (f.type != frame_type::headers) continue;
    bool ok = false;
    bool rejected = false;
    decoder_.start(payload);
    while (decoder_.next() == hpack::decoder::step::field) {
      const hpack::field& field = decoder_.current();
      ok |= field.name == "grpc-status" && field.value == "0";
      rejected |= field.name == "grpc-status" && field.value == "8";
    }
    if (!f.has(http2::flag::end_stream)) continue;
    if (rejected) {
      ++rejected_;
      continue;
    }
    if (!ok || echoed_ != f.id) return false;
    ++answered_;
  }
  return true;
}

}  // namespace bench
