#include "coracle/rpc/error_details.hpp"

#include "rpc/proto_wire.hpp"

#include <algorithm>
#include <chrono>

namespace coracle {

namespace {

using rpc::proto_reader;
using rpc::put_number;
using rpc::put_text;
using pair = std::pair<std::string, std::string>;

constexpr std::int64_t nanos_per_second = 1'000'000'000;
// The maximum of google.protobuf.Duration; larger values are clamped.
constexpr std::int64_t seconds_max = 9'000'000'000;

// A message of two strings: an entry of a map, or a violation.
std::string to_message(const pair& p) {
  std::string bytes;
  rpc::put_text(bytes, 1, p.first);
  rpc::put_text(bytes, 2, p.second);
  return bytes;
}

std::optional<pair> from_message(std::string_view bytes) {
  rpc::proto_reader in(bytes);
  pair p;
  while (in.next()) {
    if (in.field() == 1) p.first = in.text();
    if (in.field() == 2) p.second = in.text();
  }
  if (!in.ok()) return std::nullopt;
  return p;
}

}  // namespace

std::optional<std::string_view> error_info::find(std::string_view key) const noexcept {
  const auto at =
      std::find_if(metadata_.begin(), metadata_.end(), [&](const pair& p) { return p.first == key; });
  if (at == metadata_.end()) return std::nullopt;
  return at->second;
}

std::string error_info::to_bytes() const {
  std::string bytes;
  rpc::put_text(bytes, 1, reason_);
  rpc::put_text(bytes, 2, domain_);
  for (const pair& p : metadata_) rpc::put_text(bytes, 3, to_message(p), true);
  return bytes;
}

std::optional<error_info> error_info::from_bytes(std::string_view bytes) {
  rpc::proto_reader in(bytes);
  error_info out;
  while (in.next()) {
    if (in.field() == 1) out.reason_ = in.text();
    if (in.field() == 2) out.domain_ = in.text();
    if (in.field() != 3) continue;
    auto entry = from_message(in.text());
    if (!entry) return std::nullopt;
    out.metadata_.push_back(*std::move(entry));
  }
  if (!in.ok()) return std::nullopt;
  return out;
}

std::string retry_info::to_bytes() const {
  const std::int64_t all = std::chrono::duration_cast<std::chrono::nanoseconds>(delay_).count();
  std::string length;
  rpc::put_number(length, 1, static_cast<std::uint64_t>(all / nanos_per_second));
  rpc::put_number(length, 2, static_cast<std::uint64_t>(all % nanos_per_second));
  std::string bytes;
  rpc::put_text(bytes, 1, length, true);
  return bytes;
}

std::optional<retry_info> retry_info::from_bytes(std::string_view bytes) {
  rpc::proto_reader in(bytes);
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  while (in.next()) {
    if (in.field() != 1) continue;
    rpc::proto_reader length(in.text());
    while (length.next()) {
      if (length.field() == 1) seconds = static_cast<std::int64_t>(length.number());
      if (length.field() == 2) nanos = static_cast<std::int32_t>(length.number());
    }
    if (!length.ok()) return std::nullopt;
  }
  if (!in.ok()) return std::nullopt;
  seconds = std::clamp(seconds, -seconds_max, seconds_max);
  return retry_info(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos));
}

std::string bad_request::to_bytes() const {
  std::string bytes;
  for (const pair& p : violations_) rpc::put_text(bytes, 1, to_message(p), true);
  return bytes;
}

std::optional<bad_request> bad_request::from_bytes(std::string_view bytes) {
  rpc::proto_reader in(bytes);
  bad_request out;
  while (in.next()) {
    if (in.field() != 1) continue;
    auto violation = from_message(in.text());
    if (!violation) return std::nullopt;
    out.violations_.push_back(*std::move(violation));
  }
  if (!in.ok()) return std::nullopt;
  return out;
}

}  // namespace coracle
