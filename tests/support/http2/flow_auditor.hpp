// Observes the input and output of one engine and checks its flow control, with arithmetic of its own.
#pragma once

#include "coracle/base/bytes.hpp"
#include "http2/frame.hpp"

#include <gtest/gtest.h>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace coracle::http2::test {

// Frames may arrive in any pieces. Windows decrease with each DATA frame that the engine sends and increase
// with received updates; neither the connection's window nor a stream's may be exceeded.
class flow_auditor {
 public:
  void on_received(bytes_view bytes) {
    in_.append(as_text(bytes));
    each_frame(in_, [this](const frame_header& f, std::string_view payload) { on_told(f, payload); });
  }
  void on_sent(bytes_view bytes) {
    out_.append(as_text(bytes));
    each_frame(out_, [this](const frame_header& f, std::string_view) {
      if (f.type != frame_type::data || f.length == 0) return;  // an empty frame needs no window
      connection_ -= f.length;
      taken_[f.id] += f.length;
      data_bytes_ += f.length;
      EXPECT_GE(connection_, 0) << "the connection's window is overdrawn";
      EXPECT_LE(taken_[f.id], initial_ + given_[f.id]) << "the window of stream " << f.id << " is overdrawn";
    });
  }
  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_bytes_; }

 private:
  template <class F>
  static void each_frame(std::string& bytes, F use) {
    std::string_view rest = bytes;
    if (rest.starts_with(client_preface)) rest.remove_prefix(client_preface.size());
    while (rest.size() >= frame_header_bytes) {
      const frame_header f = read_frame_header(as_bytes(rest).data());
      if (rest.size() < frame_header_bytes + f.length) break;
      use(f, rest.substr(frame_header_bytes, f.length));
      rest.remove_prefix(frame_header_bytes + f.length);
    }
    bytes = std::string(rest);
  }
  void on_told(const frame_header& f, std::string_view payload) {
    if (f.type == frame_type::window_update)
      (f.id ? given_[f.id] : connection_) += load_u32(as_bytes(payload).data());
    if (f.type != frame_type::settings) return;
    for (; payload.size() >= 6; payload.remove_prefix(6))
      if (payload[1] == 4) initial_ = load_u32(as_bytes(payload).data() + 2);
  }

  std::string in_;
  std::string out_;
  std::int64_t connection_ = 65535;
  std::int64_t initial_ = 65535;
  std::int64_t data_bytes_ = 0;
  std::map<stream_id, std::int64_t> given_;
  std::map<stream_id, std::int64_t> taken_;
};

}  // namespace coracle::http2::test
