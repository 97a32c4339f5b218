// status_headers: writes a status as trailer fields: grpc-status, grpc-message and grpc-status-details-bin.
#pragma once

#include "coracle/base/status.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_message.hpp"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// Adds the fields with to.add(name, value). This is the only writer of a status: the message is always
// percent-encoded.
template <class Block>
void add_status(Block& to, const status& s) {
  char digits[4];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<int>(s.code())).ptr;
  to.add(status_header, std::string_view(digits, static_cast<std::size_t>(end - digits)));
  std::string text;
  if (!s.message().empty()) {
    encode_message(s.message(), text);
    to.add(message_header, text);
  }
  if (!s.details().empty()) {
    text.clear();
    base::base64_encode(s.details(), text);
    to.add(status_details_header, text);
  }
}

}  // namespace coracle::protocol::grpc
