// raw_peer: the other end of a connection over bytes in memory, written by hand.
#pragma once

#include "net/duplex.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace coracle::transport {

inline const std::string settings = std::string("\0\0\0\4\0\0\0\0\0", 9);
inline const std::string settings_ack = std::string("\0\0\0\4\1\0\0\0\0", 9);
inline const std::string client_hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + settings_ack;

class raw_peer final : net::duplex_sink {
 public:
  explicit raw_peer(std::unique_ptr<net::duplex> d) : stream_(std::move(d)) { stream_->start(*this); }
  void send(std::string bytes) {
    bytes_ = std::move(bytes);
    stream_->send(as_bytes(bytes_));
  }
  void close() { stream_->close(); }
  void pause() { stream_->pause_receive(); }
  void resume() { stream_->resume_receive(); }
  std::int64_t last_sent = 1;  // 1: nothing yet
  bool ended = false;
  std::string bytes_received;

 private:
  void received(bytes_view bytes) noexcept override { bytes_received.append(as_text(bytes)); }
  void receive_ended(std::int64_t) noexcept override { ended = true; }
  void sent(std::int64_t result) noexcept override { last_sent = result; }
  void closed() noexcept override {}
  std::unique_ptr<net::duplex> stream_;
  std::string bytes_;
};

}  // namespace coracle::transport
