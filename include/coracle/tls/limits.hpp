// limits: bounds on the time and memory that a TLS peer can consume.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstddef>

namespace coracle::tls::limits {

/// The default of handshake_timeout(): the time from the start of a connection to the end of its handshake.
/// The connection is closed when it is exceeded.
inline constexpr duration handshake_time = std::chrono::seconds(10);
/// How long a closing connection waits until its last bytes have been sent and, after a failed handshake,
/// until the peer has read them.
inline constexpr duration close_notify_time = std::chrono::seconds(1);
/// The maximum size of a peer's certificate chain, as received.
inline constexpr std::size_t certificates_bytes = 100u << 10;
/// The maximum number of encrypted bytes that wait to be sent. It is more than a few records, so that a large
/// output is sent in few system calls.
inline constexpr std::size_t encrypted_bytes = 128u << 10;
/// The maximum size of unsent responses to post-handshake messages (KeyUpdate) of a peer that does not read
/// them.
inline constexpr std::size_t unread_answers_bytes = 16u << 10;
/// The maximum number of sessions that a client keeps for each host.
inline constexpr std::size_t sessions_per_host = 4;
/// The maximum number of hosts for which a client keeps sessions.
inline constexpr std::size_t session_hosts = 64;
/// The memory that each connection charges to the server's memory_quota in addition to its buffers and the
/// peer's chain. Measured with OpenSSL 3, which allocates 9 KiB for a new SSL object and 17 KiB for an
/// established one.
inline constexpr std::size_t connection_memory_bytes = 16u << 10;
/// The additional memory that is charged during the handshake (56 to 73 KiB in all).
inline constexpr std::size_t handshake_memory_bytes = 48u << 10;
/// The maximum size of a file of client_options::spiffe_bundle_map or server_options::spiffe_bundle_map.
inline constexpr std::size_t spiffe_bundle_map_bytes = 4u << 20;
/// The maximum size of the CRLs of revocation_options::pem, and of the files of its directory.
inline constexpr std::size_t crl_bytes = 64u << 20;
/// The maximum number of files of revocation_options::directory.
inline constexpr std::size_t crl_files = 1024;
/// The default of revocation_options::interval: how often the directory is read.
inline constexpr duration crl_interval = std::chrono::hours(1);
/// The minimum of that; shorter intervals have this length (gRFC A69).
inline constexpr duration crl_interval_min = std::chrono::minutes(1);
/// The minimum interval between two checks for changed files.
inline constexpr duration file_check_interval = std::chrono::seconds(1);

}  // namespace coracle::tls::limits
