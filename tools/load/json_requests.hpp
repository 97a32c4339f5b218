// json_requests: makes requests from JSON, in which numbers may change from call to call.
#pragma once

#include "tools/load/data_file.hpp"
#include "tools/load/request_source.hpp"
#include "tools/schema/schema.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools::load {

// In the text {{call}}, {{user}} and {{message}} stand for the numbers of request_place, and {{random}} for a
// number below 2^31 that is derived from them. {{column}} stands for a value of the data file. A text without
// placeholders is converted once.
class json_requests final : public request_source {
 public:
  // `texts` are the messages of a call, one after the other; they repeat if a client stream is longer.
  // `messages` is the number of messages that a call sends; default: the number of texts. Throws failure for
  // text that is not such a message. `types` and `data` must outlive this object.
  json_requests(schema& types, const google::protobuf::MethodDescriptor& method,
                std::vector<std::string> texts, std::optional<std::uint32_t> messages,
                const data_file* data = nullptr);

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] call_kind kind() const noexcept override { return kind_; }
  [[nodiscard]] std::uint32_t messages(const request_place&) const override { return messages_; }
  // Throws failure if the numbers produce a text that is not such a message.
  [[nodiscard]] const bytes_message& message(const request_place& at, bytes_message& scratch) const override;
  [[nodiscard]] std::optional<std::string> json(const request_place& at) const override;

 private:
  struct form {
    std::string text;
    bytes_message bytes;  // if the text has no placeholders
    bool varies;
  };
  [[nodiscard]] bytes_message read(const std::string& text) const;

  schema& types_;
  const google::protobuf::MethodDescriptor& method_;
  const data_file* const data_;
  std::string path_;
  std::vector<form> forms_;
  std::uint32_t messages_ = 1;
  call_kind kind_;
};

}  // namespace coracle::tools::load
