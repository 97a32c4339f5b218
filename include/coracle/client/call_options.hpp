// call_options: the options of one call.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/rpc/criticality.hpp"
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

/// The options of one call. A value type: set the members that differ from the defaults.
///
///   coracle::call_options options = coracle::within(1s);
///   options.wait_for_ready = true;
///   const auto movie = co_await movies.GetMovie(request, options);
///
/// What is not set is taken from channel_options::calls.
class call_options {
 public:
  /// All defaults.
  call_options() noexcept {}
  /// Returns an object with all defaults, which exists as long as the program and never changes: the default
  /// argument of stubs. A unary call with this object copies no options.
  [[nodiscard]] static const call_options& defaults() noexcept;

  /// How long the whole call may take, from the first await, including queueing and connecting. Zero or less
  /// fails the call at once. An earlier deadline of the caller's environment still applies. Default: no
  /// limit.
  std::optional<duration> timeout;
  /// How much earlier than an inherited deadline the call ends, so that the handler that makes it can still
  /// answer when the call takes too long. If no more time than this is left, the call ends at once with
  /// DEADLINE_EXCEEDED. Negative values count as zero. Default: zero.
  std::optional<duration> deadline_margin;
  /// The metadata that the call sends. Default: none.
  coracle::metadata metadata;
  /// The maximum size of a received message in bytes. A larger message from the server ends the call with
  /// RESOURCE_EXHAUSTED. Default: 4 MiB, as in other gRPC implementations.
  std::optional<std::uint32_t> max_receive_bytes;
  /// The maximum size of a sent message in bytes. A larger message is not sent, and ends the call with
  /// RESOURCE_EXHAUSTED. Default: no limit, as in other gRPC implementations.
  std::optional<std::uint32_t> max_send_bytes;
  /// Encodes the messages of the call instead of protobuf's binary format. The server must support the codec.
  /// It must outlive the call: make it an object with static lifetime, as json_codec() is. Default: null,
  /// which is protobuf's binary format.
  const message_codec* codec = nullptr;

  /// How sent messages are compressed. If the server does not support the encoding, the call ends with
  /// UNIMPLEMENTED. The server chooses the compression of its replies among `accepted_encodings`. Default: no
  /// compression.
  std::optional<coracle::compression> compression;
  /// The encodings that replies may use (grpc-accept-encoding); encoding_set() accepts none. A reply in
  /// another encoding ends the call with INTERNAL. Encodings that are not available() are ignored. Default:
  /// all available encodings.
  std::optional<encoding_set> accepted_encodings;

  /// Whether the call waits for a connection, until its deadline if it has one, while the channel cannot
  /// connect, instead of failing at once with UNAVAILABLE. Default: the setting in the method's service
  /// config, or else false (grpc/grpc doc/wait-for-ready.md).
  std::optional<bool> wait_for_ready;

  /// How much it matters that the call succeeds: overloaded servers reject calls of lower levels first.
  /// Default: that of the call whose handler makes this one, or else critical.
  std::optional<coracle::criticality> criticality;

  /// The credentials of the call, such as call_credentials::bearer("token"). They are not sent in plaintext
  /// (see call_credentials), and replace those of channel_options::calls. Default: none.
  call_credentials credentials;
  /// Names the encoding of the bytes in bytes_message, if it is not protobuf's binary format: the
  /// content-type becomes "application/grpc+NAME". A codec sets the name itself. Default: empty.
  std::string content_subtype;
  /// Makes the call inherit nothing from the task or handler that makes it: no deadline, no stop (its wait
  /// cannot be stopped), no trace, no baggage, no criticality. For work that must finish even if no task
  /// waits for it any more. Default: false.
  bool detached = false;

  /// The :authority of the call, in place of the channel's. TLS verifies the server by the name that the
  /// channel connects to, and call credentials are made for that. The call ends with UNAVAILABLE if the
  /// server's certificate does not have this name as well (tls::client_options::verify_authority), except
  /// where a control plane configures the TLS of the server. Default: empty, which is the channel's.
  std::string authority;

  /// The value of the label `grpc.client.call.custom` of the call's metrics (gRFC A108), which
  /// telemetry_options::optional_labels turns on. Each distinct value is a time series of its own: take it
  /// from a short list, never from what clients send. Default: empty.
  std::string telemetry_label;

  /// Adds a metadata pair, like metadata.add(); here an invalid pair (see coracle::metadata) makes the call
  /// fail with INTERNAL before anything is sent.
  call_options& add_metadata(std::string_view key, std::string_view value) {
    if (!metadata.add(key, value)) bad_metadata_ = true;
    return *this;
  }
  /// Takes from `defaults` the options that are not set here, and the metadata under keys that are not used
  /// here.
  void inherit(const call_options& defaults);

  friend bool operator==(const call_options&, const call_options&) = default;

  /// @cond  For the library: the values that apply.
  [[nodiscard]] bool has_bad_metadata() const noexcept { return bad_metadata_; }
  [[nodiscard]] std::uint32_t receive_limit() const noexcept { return max_receive_bytes.value_or(4u << 20); }
  [[nodiscard]] std::uint32_t send_limit() const noexcept {
    return max_send_bytes.value_or(std::numeric_limits<std::uint32_t>::max());
  }
  [[nodiscard]] encoding_set reply_encodings() const noexcept {
    return accepted_encodings ? accepted_encodings->common(encoding_set::all()) : encoding_set::all();
  }
  [[nodiscard]] std::string_view subtype() const noexcept {
    return codec ? codec->name() : std::string_view(content_subtype);
  }
  /// @endcond

 private:
  bool bad_metadata_ = false;
};
static_assert(!std::is_aggregate_v<call_options>, "GCC 12 destroys aggregates in co_await expressions twice");

/// Returns options with a timeout: `co_await stub.Method(request, coracle::within(1s))`.
[[nodiscard]] inline call_options within(duration d) noexcept {
  call_options o;
  o.timeout = d;
  return o;
}

}  // namespace coracle
