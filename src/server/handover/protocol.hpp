// protocol: the messages between a server and its successor, as text. Without I/O.
//
//   successor                      predecessor
//   take 1                ->
//                         <-       socket ORIGIN NAME, with a descriptor; one for each
//                         <-       control, with the descriptor at which successors connect
//                         <-       end COUNT
//   ready INDEX INDEX ... ->       it serves with these sockets
//                         <-       go        its listeners pause; it sends GOAWAYs
//                         <-       done      everything belongs to the successor
//
// The predecessor may say "refused REASON" instead of any of its messages; it then goes on serving. Until
// "go", the end of the connection does the same; until "done", so does the end of the successor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal::handover_protocol {

inline constexpr std::uint64_t version = 1;
// Of one handover: what the kernel's buffer of a connection holds before the successor reads.
inline constexpr std::size_t sockets_max = 64;

// What a listening socket was made for, by which the successor finds it.
struct socket_name {
  bool of_manager = false;  // of the service manager: `text` is its name there
  // Else the address that was wanted, which may have port 0.
  std::string text;
  friend bool operator==(const socket_name&, const socket_name&) = default;
};

struct message {
  enum class kind : std::uint8_t { take, socket, control, end, refused, ready, go, done };
  kind type{};
  std::uint64_t number = 0;  // take: the version; end: the count
  socket_name name;  // socket
  std::string reason;  // refused
  std::vector<std::size_t> indices;  // ready: in ascending order, each less than sockets_max
};

// Each stays below packet_bytes_max; longer texts are cut.
[[nodiscard]] std::string write(const message& m);
// None if the text is malformed.
[[nodiscard]] std::optional<message> parse(std::string_view text);

}  // namespace coracle::server_internal::handover_protocol
