// What TLS lets a peer hold up or make grow.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstddef>

namespace coracle::tls::limits {

// From the start of a connection to the end of its handshake; later the connection is closed.
inline constexpr duration handshake_time = std::chrono::seconds(10);
// How long a closing connection waits for its last words to leave and, after a failed handshake, for the peer to
// have read them.
inline constexpr duration farewell_time = std::chrono::seconds(1);
// A peer's chain of certificates, as it arrives.
inline constexpr std::size_t certificates_bytes = 100u << 10;
// Encrypted bytes that wait for the connection to take them. More than a few records, so that a large output leaves
// in few sends.
inline constexpr std::size_t encrypted_bytes = 128u << 10;
// Answers to messages of the handshake's kind (KeyUpdate) that a peer asks for and does not read.
inline constexpr std::size_t unread_answers_bytes = 16u << 10;
// Sessions that a client keeps for a host, and hosts that it keeps sessions for.
inline constexpr std::size_t sessions_per_host = 4;
inline constexpr std::size_t session_hosts = 64;
// What a connection counts of a server's memory_quota beside its buffers and the peer's chain: measured with OpenSSL 3,
// which takes 9 KiB for a new SSL object and 17 KiB for an established one ...
inline constexpr std::size_t connection_memory_bytes = 16u << 10;
// ... and this much more while it shakes hands (56 to 73 KiB in all).
inline constexpr std::size_t handshake_memory_bytes = 48u << 10;
// Between looks at whether files have changed.
inline constexpr duration file_look_interval = std::chrono::seconds(1);

}  // namespace coracle::tls::limits
