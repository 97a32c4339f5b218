// raw_http: requests of HTTP/1.1 as octets, and their responses.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/net/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing_support::raw_http {

struct response {
  std::string head;  // up to the empty line
  std::string body;
  [[nodiscard]] int status() const { return head.size() < 12 ? 0 : std::stoi(head.substr(9, 3)); }
  [[nodiscard]] bool has(std::string_view line) const { return head.find(line) != std::string::npos; }
  // The value of the field; empty if there is none.
  [[nodiscard]] std::string field(std::string_view name) const {
    const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

// The body of a chunked response, without its framing, and "(cut)" if its end is missing.
inline std::string dechunked(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const std::size_t size = std::stoul(std::string(text.substr(0, text.find('\r'))), nullptr, 16);
    text.remove_prefix(text.find('\n') + 1);
    all.append(text.substr(0, size));
    if (size == 0) return all;
    text.remove_prefix(std::min(size + 2, text.size()));
  }
  return all + "(cut)";
}

inline response parse(const std::string& all) {
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos) return {all, {}};
  response r{all.substr(0, end), all.substr(end + 4)};
  if (r.has("transfer-encoding: chunked")) r.body = dechunked(r.body);
  return r;
}

inline task<net::stream> connect(std::string address) {
  auto connected = co_await net::stream::connect(net::address::parse(address).value());
  co_return std::move(connected).value();
}

inline task<> send(net::stream& s, std::string content) {
  const status written = co_await s.write(as_bytes(content));
  EXPECT_EQ(written, status());
}

// Appends what arrives until `all` contains `wanted`; false if the connection ends before.
inline task<bool> receive_until(net::stream& s, std::string& all, std::string wanted) {
  std::uint8_t bytes[16'384];
  std::size_t from = 0;
  while (wanted.empty() || all.find(wanted, from) == std::string::npos) {
    from = all.size() - std::min(all.size(), wanted.size());
    const auto got = co_await s.read(bytes);
    if (!got || *got == 0) co_return wanted.empty();
    all.append(reinterpret_cast<const char*>(bytes), *got);
  }
  co_return true;
}

// Sends the octets, and returns what arrives until the server closes the connection.
inline task<std::string> exchange(std::string address, std::string content) {
  net::stream s = co_await connect(std::move(address));
  co_await send(s, std::move(content));
  std::string all;
  co_await receive_until(s, all, {});
  co_return all;
}

// A request whose connection closes after the response. `fields` end with CRLF each.
inline std::string request(const std::string& line, const std::string& fields = {},
                           const std::string& body = {}) {
  std::string content = line + " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + fields;
  if (!body.empty()) content += "content-length: " + std::to_string(body.size()) + "\r\n";
  return content + "\r\n" + body;
}

}  // namespace coracle::testing_support::raw_http
