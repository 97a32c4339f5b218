// Shared by the tests of streams: free addresses, and connected pairs.
#pragma once

#include "coracle/coro/when_all.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace coracle::net {

// A path that no other process uses. It is removed at the end, whatever the test left there.
class socket_path {
 public:
  socket_path()
      : path_(std::filesystem::temp_directory_path() /
              ("coracle-net-" + std::to_string(::getpid()) + "-" + std::to_string(next_++))) {}
  ~socket_path() { std::filesystem::remove(path_); }
  socket_path(const socket_path&) = delete;
  socket_path& operator=(const socket_path&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] address where() const { return address::path(path_.string()).value(); }

 private:
  static inline std::atomic<int> next_{0};
  std::filesystem::path path_;
};

class stream_pair {
 public:
  stream client;
  stream server;
  stream_pair(stream c, stream s) noexcept : client(std::move(c)), server(std::move(s)) {}
};

inline task<stream_pair> connected_pair(address at = address::loopback_v4(0)) {
  listener waiting = listener::open(at).value();
  task<result<stream>> accepting = waiting.accept();
  task<result<stream>> connecting = stream::connect(waiting.local_address());
  auto both = co_await when_all(std::move(accepting), std::move(connecting));
  stream server = std::get<0>(std::move(both)).value();
  stream client = std::get<1>(std::move(both)).value();
  co_await waiting.close();
  co_return stream_pair(std::move(client), std::move(server));
}

inline stream_write write_text(stream& to, std::string_view text) { return to.write(as_bytes(text)); }

// Exactly n bytes, or fewer when the stream ends earlier.
inline task<std::string> read_text(stream& from, std::size_t n) {
  std::string text(n, '\0');
  std::size_t got = 0;
  while (got < n) {
    const mutable_bytes room(reinterpret_cast<std::uint8_t*>(text.data()) + got, n - got);
    const result<std::size_t> more = co_await from.read(room);
    if (!more) throw status_error(more.status());
    if (*more == 0) break;
    got += *more;
  }
  text.resize(got);
  co_return text;
}

// Bytes that reveal a gap, a repetition or a swap.
inline std::string pattern(std::size_t n, std::uint32_t salt) {
  std::string text(n, '\0');
  std::uint32_t x = salt * 2654435761u + 1;
  for (char& c : text) {
    x = x * 1664525u + 1013904223u;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

}  // namespace coracle::net
