// method_name: a method's path under a small number, for records that have no room for text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::base {

// Lives as long as the process, so that a record can refer to it after its server or channel is gone.
struct method_name {
  static constexpr std::size_t text_bytes_max = 255;
  // "/package.Service/Method", zero-terminated. First, so that probes and debuggers find it at the address.
  char text[text_bytes_max + 1];
  static constexpr std::uint16_t id_of_none = 0xffff;
  std::uint16_t id;  // never 0; id_of_none: not registered
};

// The names of the process. Any thread.
struct method_names {
  // The paths that clients call may be made from what a peer sent, so their number is limited. Servers
  // register at most as many again.
  static constexpr std::size_t client_names_max = 2048;
  static constexpr std::size_t names_max = 8192;

  // The name of a method of a server. unregistered() if there are too many, or no memory.
  static const method_name& of_server(std::string_view path) noexcept;
  static const method_name& of_client(std::string_view path) noexcept;
  static const method_name& unregistered() noexcept { return none; }
  // For signal handlers, too: the names with the numbers from 1 to count().
  [[nodiscard]] static std::size_t count() noexcept;
  [[nodiscard]] static const method_name& at(std::size_t id) noexcept;

 private:
  static constexpr method_name none{"(not registered)", method_name::id_of_none};
};

}  // namespace coracle::base
