// The encodings that a peer accepts, as grpc-accept-encoding names them.
#pragma once

#include "coracle/compress/encoding_set.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// "gzip, deflate"; names that are not known here are passed over.
encoding_set parse_accepted_encodings(std::string_view list) noexcept;
// For the wire: "identity,deflate,gzip,zstd,...". Lives as long as the program.
const std::string& accepted_encodings_text(encoding_set s);
// What grpc-encoding says; nothing for an encoding that is not in `accepted`.
std::optional<encoding> accepted_encoding(std::string_view name, encoding_set accepted) noexcept;

}  // namespace coracle::protocol::grpc
