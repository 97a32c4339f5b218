// message_codec: another encoding of protobuf messages on the wire, such as JSON.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace coracle {

/// What decoding a peer's message may cost, and what it has cost. The unit is a byte of protobuf's binary
/// format, whose values are quick to decode.
struct decode_meter {
  std::size_t cost_max;  ///< max_receive_bytes of the call
  std::size_t cost = 0;  ///< what its loop is charged with, beside the bytes of the message
};

/// Encodes and decodes protobuf messages in a form other than protobuf's binary format. Users derive from it.
///
/// The content-type of a call names the encoding of its messages: "application/grpc+NAME". "application/grpc"
/// and "application/grpc+proto" mean protobuf's binary format, which needs no codec object (grpc/grpc
/// doc/PROTOCOL-HTTP2.md). A client chooses the codec of each call with call_options::codec. A server
/// supports the codecs that were passed to server_options::codecs, and replies in the encoding of the
/// request.
///
/// Calls on all loops use the same object concurrently. Messages of LITE_RUNTIME have no reflection and
/// cannot be encoded this way: their calls end with INTERNAL.
class message_codec {
 public:
  virtual ~message_codec() = default;
  /// Returns the name: lower-case letters, digits, '-', '_' and '.', but not "proto". It must always be the
  /// same.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Appends the encoded message to `to`. A status that is not OK ends the call.
  virtual status write(const google::protobuf::Message& message, std::string& to) const = 0;
  /// Decodes `from` into `message`, which may hold earlier content: clear it first. A status that is not OK,
  /// usually INTERNAL, ends the call.
  virtual status read(google::protobuf::Message& message, bytes_view from) const = 0;
  /// The same for a message of a peer. By default calls read(). Override it if few bytes can take long to
  /// decode: return RESOURCE_EXHAUSTED when that exceeds `meter.cost_max`. What `meter.cost` says counts
  /// against what the loop decodes before it serves other connections.
  virtual status read_metered(google::protobuf::Message& message, bytes_view from,
                              decode_meter& meter) const {
    static_cast<void>(meter);
    return read(message, from);
  }
};

/// Returns the codec "json", which uses protobuf's JSON mapping. It ignores unknown fields when it reads, as
/// the binary format does. A field that occurs twice and values nested deeper than 100 are errors, which name
/// the field or the position. A peer's message with more values than max_receive_bytes / 128 to
/// max_receive_bytes / 16, depending on their kinds, is RESOURCE_EXHAUSTED. The object lives until the
/// program ends.
const message_codec& json_codec() noexcept;

}  // namespace coracle
