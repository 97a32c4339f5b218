// call_options: the options of one call.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
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

/// The options of one call. A value type, in builder style: `coracle::within(1s).metadata("x-user", "ada")`.
class call_options {
 public:
  call_options() noexcept {}

  /// Sets how long the whole call may take, from the first await, including queueing and connecting.
  ///
  /// Zero or less fails the call at once. An earlier deadline of the caller's environment still applies.
  call_options& timeout(duration d) noexcept { return timeout_ = d, *this; }
  /// Adds a metadata pair. An invalid pair (see coracle::metadata) makes the call fail with INTERNAL before
  /// anything is sent.
  call_options& metadata(std::string_view key, std::string_view value) {
    if (!metadata_.add(key, value)) bad_metadata_ = true;
    return *this;
  }
  /// Adds the pairs that metadata::add_all() adds.
  call_options& metadata(const coracle::metadata& from) { return metadata_.add_all(from), *this; }
  /// Limits the size of received messages. A larger message from the server ends the call with
  /// RESOURCE_EXHAUSTED. Default 4 MiB, as in other gRPC implementations.
  call_options& max_receive_bytes(std::uint32_t n) noexcept { return max_receive_bytes_ = n, *this; }
  /// Limits the size of sent messages. A larger message is not sent, and ends the call with
  /// RESOURCE_EXHAUSTED. Unlimited by default, as in other gRPC implementations.
  call_options& max_send_bytes(std::uint32_t n) noexcept { return max_send_bytes_ = n, *this; }
  /// Encodes the messages of the call with `c` instead of protobuf's binary format. The server must support
  /// the codec. `c` must outlive the call: make it an object with static lifetime, as json_codec() is.
  call_options& codec(const message_codec& c) noexcept { return codec_ = &c, *this; }

  /// Sets how sent messages are compressed. If the server does not support the encoding, the call ends with
  /// UNIMPLEMENTED.
  ///
  /// The server chooses the compression of its replies among accepted_encodings(). Default: the setting of
  /// the channel, which is no compression unless configured.
  call_options& compression(const coracle::compression& c) noexcept { return compression_ = c, *this; }

  /// Sets the encodings that replies may use (grpc-accept-encoding). A reply in another encoding ends the
  /// call with INTERNAL. Encodings that are not available() are ignored. Default: the setting of the channel,
  /// or else all available encodings.
  call_options& accepted_encodings(encoding_set s) noexcept { return accepted_ = s, *this; }

  /// Sets whether the call waits for a connection, until its deadline if it has one, while the channel cannot
  /// connect, instead of failing at once with UNAVAILABLE.
  ///
  /// Default: the setting in the method's service config, or else false (grpc/grpc doc/wait-for-ready.md).
  call_options& wait_for_ready(bool on) noexcept { return wait_for_ready_ = on, *this; }

  /// Sets the credentials of the call, which are not sent in plaintext (see call_credentials). The
  /// credentials for all calls of a channel go into channel_options::calls(); the call's own credentials
  /// replace them.
  call_options& credentials(call_credentials c) noexcept { return credentials_ = std::move(c), *this; }
  /// Sets a bearer token: credentials(call_credentials::bearer(t)).
  call_options& token(std::string_view t) { return credentials(call_credentials::bearer(t)); }
  /// Names the encoding of the bytes in bytes_message, if it is not protobuf's binary format: the
  /// content-type becomes "application/grpc+NAME". A codec() sets the name itself.
  call_options& content_subtype(std::string_view name) { return content_subtype_ = name, *this; }
  /// Makes the call inherit nothing from the task or handler that makes it: no deadline, no stop (its wait
  /// cannot be stopped), no trace, no baggage. For work that must finish even if no task waits for it any
  /// more.
  call_options& detached(bool on = true) noexcept { return detached_ = on, *this; }

  /// Takes from `defaults` the options that are not set here, and the metadata under keys that are not used
  /// here.
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
  /// Returns the codec; null for protobuf's binary format.
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

/// Returns options with a timeout: `co_await stub.Method(request, coracle::within(1s))`.
[[nodiscard]] inline call_options within(duration d) noexcept {
  call_options o;
  o.timeout(d);
  return o;
}

}  // namespace coracle
