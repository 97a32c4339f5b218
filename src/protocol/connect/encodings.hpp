// encodings: which compression a Connect message has and may have: content-encoding and accept-encoding of
// unary calls, connect-content-encoding and connect-accept-encoding of streams.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace coracle::protocol::connect {

// Returns the encoding that the field of a message names: identity for an empty text, nullopt for an unknown
// name, or one that is not in `accepted`. Names have any case, and "x-gzip" is gzip (RFC 9110 8.4.1).
[[nodiscard]] std::optional<encoding> content_encoding(std::string_view name, encoding_set accepted) noexcept;

// Returns the encodings that a peer accepts, of a list such as "gzip, br;q=0.8, *;q=0" (RFC 9110 12.5.3).
// Elements with a weight of 0 are not accepted; "*" accepts nothing that is not named, because a peer that
// accepts everything cannot know what this library supports. Unknown names are ignored.
[[nodiscard]] encoding_set parse_accept_encoding(std::string_view list) noexcept;

// Returns the one of `offered` that this program has and to which such a list gives the highest weight, of
// several the first one; identity if it accepts none of them, or prefers it.
[[nodiscard]] encoding preferred_encoding(std::string_view list, std::span<const encoding> offered) noexcept;

}  // namespace coracle::protocol::connect
