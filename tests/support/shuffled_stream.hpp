// shuffled_stream: a byte_stream of a user's: a net::stream whose bytes are changed on the way.
#pragma once

#include "coracle/net/byte_stream.hpp"
#include "coracle/net/stream.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace coracle::testing_support {

inline void shuffle(mutable_bytes bytes) noexcept {
  for (std::uint8_t& b : bytes) b ^= 0x5a;
}

class shuffled_stream final : public net::byte_stream {
 public:
  explicit shuffled_stream(net::stream s) noexcept : inner_(std::move(s)) {}
  task<result<std::size_t>> read(mutable_bytes into) override {
    const result<std::size_t> n = co_await inner_.read(into);
    if (n) shuffle(into.first(*n));
    co_return n;
  }
  task<status> write(bytes_view bytes) override {
    std::vector<std::uint8_t> changed(bytes.begin(), bytes.end());
    shuffle(changed);
    co_return co_await inner_.write(changed);
  }
  task<status> shutdown_send() override {
    inner_.shutdown_send();
    co_return status();
  }
  void close(bool abort) noexcept override { inner_.close(abort); }
  [[nodiscard]] net::address peer_address() const override { return inner_.peer_address(); }
  [[nodiscard]] net::address local_address() const override { return inner_.local_address(); }

 private:
  net::stream inner_;
};

}  // namespace coracle::testing_support
