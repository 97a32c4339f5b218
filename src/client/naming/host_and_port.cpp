#include "client/naming/host_and_port.hpp"

#include <charconv>

namespace coracle::client {

std::optional<host_and_port> split_host_and_port(std::string_view text) {
  host_and_port found;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    found.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && !port.starts_with(':')) return {};
    if (has_port) port.remove_prefix(1);
  } else if (const std::size_t colon = text.find(':'); colon == text.rfind(':')) {
    found.host = text.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = text.substr(colon + 1);
  } else {
    found.host = text;
  }
  if (has_port) {
    std::uint16_t n = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), n);
    if (port.empty() || error != std::errc() || end != port.data() + port.size()) return {};
    found.port = n;
  }
  if (found.host.empty()) return {};
  return found;
}

}  // namespace coracle::client
