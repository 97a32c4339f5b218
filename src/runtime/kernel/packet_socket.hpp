// packet_socket: connections between processes of this machine that carry short messages, with descriptors
// beside them: SOCK_SEQPACKET over a path, where a message arrives whole or not at all.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::runtime_internal::kernel {

// Closes its descriptor when it is destroyed.
class owned_descriptor {
 public:
  owned_descriptor() noexcept = default;
  explicit owned_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  owned_descriptor(owned_descriptor&& other) noexcept : descriptor_(other.release()) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept;
  ~owned_descriptor();
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  int release() noexcept;

 private:
  int descriptor_ = -1;
};

// None if the process has as many as it may have.
owned_descriptor duplicate(int descriptor) noexcept;
// Ends listening at a socket in all processes that have it.
void end_listening(int descriptor) noexcept;
// Whether a listening socket for IPv6 takes IPv4 connections, or not, as is wanted. True for others.
bool serves_ipv4_as(int descriptor, bool only_ipv6) noexcept;

// Longer messages are malformed.
inline constexpr std::size_t packet_bytes_max = 1024;

struct packet {
  std::string text;  // empty: the other side has closed the connection
  owned_descriptor descriptor;  // may be none
};

struct peer_process {
  std::int64_t process_id = 0;
  std::uint32_t user_id = 0;
};

// All functions return -errno on failure, and make non-blocking descriptors that programs which are started
// do not inherit. Any thread.

// Binds to the path, with a file that only this user may write, and listens.
std::int64_t listen_for_packets(const std::string& path) noexcept;
// Connects; never waits: -ECONNREFUSED if no process listens, -ENOENT without a file, -EAGAIN if too many
// connections wait.
std::int64_t connect_for_packets(const std::string& path) noexcept;
std::int64_t accept_packets(int listener) noexcept;
// Sends one message, with a descriptor unless that is -1, which stays the caller's. Does not wait.
std::int64_t send_packet(int on, std::string_view text, int descriptor = -1) noexcept;
// Receives one message. Does not wait: -EAGAIN if none has arrived, -EMSGSIZE if it is longer than
// packet_bytes_max, or has more than one descriptor, which are closed then. Throws std::bad_alloc.
std::int64_t receive_packet(int from, packet& into);
// Waits for a message, or for the end of the connection, until the timeout: -ETIMEDOUT.
std::int64_t wait_for_packet(int from, duration timeout) noexcept;
// The process that has connected, or that listens.
std::optional<peer_process> peer_of(int connection) noexcept;
// Whether the process may do to this one what it likes anyway: it has the same user, or is root's.
bool is_trusted(const peer_process& peer) noexcept;

// Takes the lock of a file, which is created if it does not exist, and writes the id of this process to it;
// held until the descriptor is closed, also by the end of the process. -EAGAIN if another process has it.
std::int64_t take_lock(const std::string& path) noexcept;
// The process that has the lock, by its own account; 0: unknown.
std::int64_t lock_holder(const std::string& path) noexcept;
// Returns 0 if the path is free afterwards; -ENOTSOCK if its file is not a socket, which stays.
std::int64_t remove_socket_file(const std::string& path) noexcept;

}  // namespace coracle::runtime_internal::kernel
