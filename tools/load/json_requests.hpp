// json_requests: requests from JSON, in which numbers may change from call to call.
#pragma once

#include "tools/load/request_source.hpp"
#include "tools/schema/schema.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools::load {

// In the text {{call}}, {{user}} and {{message}} stand for the numbers of request_place, and {{random}} for one below
// 2^31 that follows from them. A text without any of these is made into bytes once.
class json_requests final : public request_source {
 public:
  // texts: the messages of a call, one after the other, from the first again where a client's stream has more
  // (`messages`: how many it sends; as many as there are texts, if not said). Throws failure for text that is no such
  // message. `types` must outlive it.
  json_requests(schema& types, const google::protobuf::MethodDescriptor& method,
                std::vector<std::string> texts, std::optional<std::uint32_t> messages);

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] call_kind kind() const noexcept override { return kind_; }
  [[nodiscard]] std::uint32_t messages(const request_place&) const override { return messages_; }
  // Throws failure, where the numbers make a text that is no such message.
  [[nodiscard]] const bytes_message& message(const request_place& at, bytes_message& scratch) const override;
  [[nodiscard]] std::optional<std::string> json(const request_place& at) const override;

 private:
  struct form {
    std::string text;
    bytes_message bytes;  // of one that is always the same
    bool varies;
  };
  [[nodiscard]] bytes_message read(const std::string& text) const;

  schema& types_;
  const google::protobuf::MethodDescriptor& method_;
  std::string path_;
  std::vector<form> forms_;
  std::uint32_t messages_ = 1;
  call_kind kind_;
};

}  // namespace coracle::tools::load
