// idempotency_key: the name of the metadata by which a server knows a call that is repeated.
#pragma once

#include <string_view>

namespace coracle::rpc {

inline constexpr std::string_view idempotency_key = "idempotency-key";

}  // namespace coracle::rpc
