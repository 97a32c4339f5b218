// message_codec: another form of protobuf messages on the wire, such as JSON.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace coracle {

// A call's content-type says which one its messages have: "application/grpc+NAME"; "application/grpc" and
// "application/grpc+proto" are protobuf's binary format, for which there is no object (grpc/grpc
// doc/PROTOCOL-HTTP2.md). A client chooses one per call, call_options::codec(); a server knows those that
// server_options::codec() gave it, and answers in the one that it was asked in.
//
// Used by calls on every loop at once. Messages of LITE_RUNTIME have no such form: their calls end with INTERNAL.
class message_codec {
 public:
  virtual ~message_codec() = default;
  // Lower-case letters, digits, '-', '_' and '.'; not "proto". The same each time.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Appends the message. Not ok: the call ends with it.
  virtual status write(const google::protobuf::Message& message, std::string& to) const = 0;
  // Into a message that may hold something: clear it. Not ok: the call ends with it, INTERNAL by custom.
  virtual status read(google::protobuf::Message& message, bytes_view from) const = 0;
};

// "json", in protobuf's JSON mapping. Names that the message does not have are passed over when reading, as the
// binary format does it. Lives as long as the program.
const message_codec& json_codec() noexcept;

}  // namespace coracle
