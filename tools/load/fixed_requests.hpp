// fixed_requests: sends the same bytes as every message of every call.
#pragma once

#include "tools/load/request_source.hpp"

#include <string>

namespace coracle::tools::load {

class fixed_requests final : public request_source {
 public:
  // `bytes` is an encoded message without its envelope. `messages` is the number of messages that each call
  // sends if the client's side is a stream.
  fixed_requests(std::string path, call_kind kind, std::string bytes, std::uint32_t messages = 1);

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] call_kind kind() const noexcept override { return kind_; }
  [[nodiscard]] std::uint32_t messages(const request_place&) const override { return messages_; }
  [[nodiscard]] const bytes_message& message(const request_place&, bytes_message&) const override {
    return message_;
  }

 private:
  std::string path_;
  bytes_message message_;
  std::uint32_t messages_;
  call_kind kind_;
};

}  // namespace coracle::tools::load
