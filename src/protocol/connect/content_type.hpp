// content_type: the Connect protocol's content-types: application/CODEC for unary calls, and
// application/connect+CODEC for streams.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::connect {

inline constexpr std::string_view proto_codec = "proto";
inline constexpr std::string_view json_codec = "json";
// Errors of unary calls have this content-type, whatever the codec of the call is.
inline constexpr std::string_view error_content_type = "application/json";

struct content {
  bool stream = false;
  std::string_view codec;  // never empty; borrowed, or in static storage

  friend constexpr bool operator==(const content&, const content&) = default;
};

// Returns nullopt if the value cannot be a content-type of Connect: it is not below application/, it belongs
// to gRPC or gRPC-Web, or it is JSON in a charset other than UTF-8. Any other codec name is returned, and the
// caller decides whether it knows it (415 if not). "proto" and "json" are recognised in any case and returned
// in lower case.
[[nodiscard]] std::optional<content> parse_content_type(std::string_view value);

// Returns for example "application/connect+json".
[[nodiscard]] inline std::string content_type_of(bool stream, std::string_view codec) {
  std::string out(stream ? "application/connect+" : "application/");
  return out.append(codec);
}

}  // namespace coracle::protocol::connect
