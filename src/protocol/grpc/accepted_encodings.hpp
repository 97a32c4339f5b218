// accepted_encodings: the encodings that a peer accepts, as listed in grpc-accept-encoding.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// Parses a list such as "gzip, deflate". Unknown names are ignored.
encoding_set parse_accepted_encodings(std::string_view list) noexcept;
// Returns the list for the wire: "identity,deflate,gzip,zstd,...". Static storage.
const std::string& accepted_encodings_text(encoding_set s);
// Returns the encoding that grpc-encoding names, or nullopt if it is not in `accepted`.
std::optional<encoding> accepted_encoding(std::string_view name, encoding_set accepted) noexcept;

}  // namespace coracle::protocol::grpc
