// call_options: what a client says about one call.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding_set.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle {

// A value; builder style:  coracle::within(1s).metadata("x-user", "ada")
class call_options {
 public:
  call_options() noexcept {}

  // The time the whole call may take, queueing and connecting included, from when it is first awaited.
  // Zero or less: it fails at once. An earlier deadline of the caller's environment holds all the same.
  call_options& timeout(duration d) noexcept { return timeout_ = d, *this; }
  // Adds a pair; one that breaks the rules (see metadata) makes the call fail with INTERNAL before
  // anything is sent.
  call_options& metadata(std::string_view key, std::string_view value) {
    if (!metadata_.add(key, value)) bad_metadata_ = true;
    return *this;
  }
  // Adds what metadata::add_all() does.
  call_options& metadata(const coracle::metadata& from) { return metadata_.add_all(from), *this; }
  // A larger message from the server ends the call with RESOURCE_EXHAUSTED. Default 4 MiB, as in other
  // implementations of gRPC.
  call_options& max_receive_bytes(std::uint32_t n) noexcept { return max_receive_bytes_ = n, *this; }
  // A larger message of ours is not sent and ends the call with RESOURCE_EXHAUSTED. No limit by default, as in
  // other implementations of gRPC.
  call_options& max_send_bytes(std::uint32_t n) noexcept { return max_send_bytes_ = n, *this; }
  // The form of the call's messages on the wire, in place of protobuf's binary format; the server must know it.
  // `c` must outlive the call.
  call_options& codec(const message_codec& c) noexcept { return codec_ = &c, *this; }

  // How messages that are sent are compressed; the server must know the encoding (else: UNIMPLEMENTED). Replies come
  // compressed as the server likes, in any of accepted_encodings(). Default: as the channel says, which
  // is not at all unless it was told otherwise.
  call_options& compression(const coracle::compression& c) noexcept { return compression_ = c, *this; }

  // How replies may be compressed (grpc-accept-encoding); a reply in another encoding ends the call with INTERNAL.
  // Encodings that are not available() are ignored. Default: as the channel says, else all that are available.
  call_options& accepted_encodings(encoding_set s) noexcept { return accepted_ = s, *this; }

  // Whether the call waits for a connection when the channel cannot connect (until its deadline, if it has one)
  // instead of failing at once with UNAVAILABLE. Default: as the method's configuration says, else it does not
  // (grpc/grpc doc/wait-for-ready.md).
  call_options& wait_for_ready(bool on) noexcept { return wait_for_ready_ = on, *this; }

  // Who makes the call; not in plaintext (see call_credentials). Those of all calls of a channel go into
  // channel_options::calls(), and a call's own take their place.
  call_options& credentials(call_credentials c) noexcept { return credentials_ = std::move(c), *this; }
  // credentials(call_credentials::bearer(t))
  call_options& token(std::string_view t) { return credentials(call_credentials::bearer(t)); }
  // The name of the form that the bytes of bytes_message have, where it is not protobuf's binary format: it goes into
  // the content-type, "application/grpc+NAME". A codec() brings its own.
  call_options& content_subtype(std::string_view name) { return content_subtype_ = name, *this; }
  // The call inherits nothing of the task or handler that makes it: no deadline, no stop (its wait cannot be
  // stopped), no trace, no baggage. For work that shall be done although nobody waits for it any more.
  call_options& detached(bool on = true) noexcept { return detached_ = on, *this; }

  // Takes from `defaults` what was not said here; metadata under keys that are not given here.
  void inherit(const call_options& defaults);

  [[nodiscard]] std::optional<duration> timeout() const noexcept { return timeout_; }
  [[nodiscard]] const coracle::metadata& metadata() const noexcept { return metadata_; }
  [[nodiscard]] bool is_detached() const noexcept { return detached_; }
  [[nodiscard]] bool bad_metadata() const noexcept { return bad_metadata_; }
  [[nodiscard]] std::uint32_t max_receive_bytes() const noexcept {
    return max_receive_bytes_.value_or(4u << 20);
  }
  [[nodiscard]] bool sets_max_receive_bytes() const noexcept { return max_receive_bytes_.has_value(); }
  [[nodiscard]] std::optional<bool> wait_for_ready() const noexcept { return wait_for_ready_; }
  [[nodiscard]] std::uint32_t max_send_bytes() const noexcept {
    return max_send_bytes_.value_or(std::numeric_limits<std::uint32_t>::max());
  }
  [[nodiscard]] const std::optional<coracle::compression>& compression() const noexcept {
    return compression_;
  }
  [[nodiscard]] encoding_set accepted_encodings() const noexcept {
    return accepted_ ? accepted_->common(encoding_set::all()) : encoding_set::all();
  }
  [[nodiscard]] const call_credentials& credentials() const noexcept { return credentials_; }
  [[nodiscard]] std::string_view content_subtype() const noexcept {
    return codec_ ? codec_->name() : std::string_view(content_subtype_);
  }
  // Null: the binary format.
  [[nodiscard]] const message_codec* codec() const noexcept { return codec_; }

  friend bool operator==(const call_options&, const call_options&) = default;

 private:
  coracle::metadata metadata_;
  call_credentials credentials_;
  std::optional<duration> timeout_;
  const message_codec* codec_ = nullptr;
  std::string content_subtype_;
  std::optional<std::uint32_t> max_receive_bytes_;
  std::optional<coracle::compression> compression_;
  std::optional<std::uint32_t> max_send_bytes_;
  bool bad_metadata_ = false;
  bool detached_ = false;
  std::optional<bool> wait_for_ready_;
  std::optional<encoding_set> accepted_;
};
static_assert(!std::is_aggregate_v<call_options>, "GCC 12 destroys aggregates in co_await expressions twice");

// co_await stub.Method(request, coracle::within(1s))
[[nodiscard]] inline call_options within(duration d) noexcept {
  call_options o;
  o.timeout(d);
  return o;
}

}  // namespace coracle
