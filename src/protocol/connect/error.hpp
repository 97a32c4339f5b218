// error: the JSON of the Connect protocol: the body of a unary response that failed, and the message that
// ends a stream ("Error and EndStreamResponse").
//
// One rule for input: members that the protocol does not define are ignored, of members with the same name
// the last one counts, and null is the same as absence.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/http/header_list.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::protocol::connect {

// Flags of an envelope in a stream.
inline constexpr std::uint8_t compressed_flag = 0x01;
inline constexpr std::uint8_t end_stream_flag = 0x02;

// Limits of received JSON, against input that costs far more memory than it has bytes.
inline constexpr std::size_t json_bytes_max = 1u << 20;
inline constexpr std::size_t json_depth_max = 100;  // nested objects and arrays
inline constexpr std::size_t json_values_max = 10'000;  // including objects, arrays and names of members

// A typed detail: an encoded message and its full name, such as "google.rpc.ErrorInfo".
struct error_detail {
  std::string type;
  std::string value;

  friend bool operator==(const error_detail&, const error_detail&) = default;
};

struct error {
  status_code code = status_code::unknown;
  std::string message;
  std::vector<error_detail> details;

  friend bool operator==(const error&, const error&) = default;
};

// Returns {"code":...,"message":...,"details":[{"type":...,"value":...}]}; an empty message and an empty list
// are omitted. OK, which is no error, is written as "unknown". Bytes that are not UTF-8 are replaced with
// U+FFFD.
[[nodiscard]] std::string write_error(status_code code, std::string_view message,
                                      std::span<const error_detail> details);

// Reads the body of a unary response whose HTTP status is not 200. The code is
// code_from_http_status(http_status) if the body has no valid one, or if it is malformed: not JSON, over a
// limit, or a member or a detail is of the wrong type. The message and the details that could be read are
// kept.
[[nodiscard]] error read_error(std::string_view json, int http_status);

// The final message of a stream.
struct end_stream {
  std::optional<connect::error> error;
  // Trailing metadata as the application reads it: names in lower case, and binary values decoded.
  http::header_list metadata;
};

// Returns {"error":{...},"metadata":{"name":["value",...]}}, without the envelope; "{}" for success without
// metadata. `error` may be null. `metadata` has wire values: the caller has encoded those of binary names
// (grpc::for_each_wire_field).
[[nodiscard]] std::string write_end_stream(const error* error, const http::header_list& metadata);

// Reads the message, after its decompression. Returns nullopt if it is malformed: not JSON, over a limit,
// wrong types, a name that is not a token, or a value with control characters. An error without a valid code
// is "unknown". Reserved names in the metadata are dropped, and so are binary values that are not base64.
[[nodiscard]] std::optional<end_stream> read_end_stream(std::string_view json);

}  // namespace coracle::protocol::connect
