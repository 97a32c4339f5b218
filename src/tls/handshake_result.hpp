// handshake_result: how a TLS handshake ended, by the names of gRFC A118.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <string_view>

namespace coracle::tls {

// `error`: the end of the byte stream or of the wait as a negative errno, or 0. `queued`: the oldest entry of
// OpenSSL's error queue, or 0.
[[nodiscard]] std::string_view name_of_failure(const SSL& connection, std::int64_t error,
                                               unsigned long queued) noexcept;

}  // namespace coracle::tls
