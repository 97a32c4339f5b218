// Metadata that a program sends and sees, where gRPC or HTTP gives its key a meaning.
#pragma once

#include "coracle/rpc/metadata.hpp"

#include <string>
#include <string_view>

namespace grpc::internal {

enum class sent_with { request, reply };

// Adds a pair as grpc++ sends it, where coracle::metadata refuses reserved keys. Pairs that HTTP/2 forbids,
// and those that the library sends itself, are dropped: programs copy the metadata of one call to another.
// False: the key or the value has characters that metadata cannot have.
[[nodiscard]] bool add_pair(coracle::metadata& to, std::string_view key, std::string_view value,
                            sent_with with);

// Whether programs do not see a pair that was received, because the library of the original consumes it.
[[nodiscard]] bool is_hidden(std::string_view key) noexcept;

}  // namespace grpc::internal
