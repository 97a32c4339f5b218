#include "protocol/grpc/fitted_status.hpp"

#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"

#include <algorithm>
#include <utility>

namespace coracle::protocol::grpc {

namespace {

constexpr std::string_view mark = " (shortened)";
// A shorter message is of less use than the details or the metadata.
constexpr std::size_t short_message_bytes = 1024;

std::size_t encoded_bytes(std::string_view message) {
  std::string text;
  encode_message(message, text);
  return text.size();
}

// The longest beginning of the message whose encoded form has at most `room_bytes` with the mark, and ends
// with a whole character.
std::string shortened(std::string_view message, std::size_t room_bytes) {
  if (room_bytes <= mark.size()) return {};
  std::size_t fits = 0;
  std::size_t beyond = std::min(message.size(), room_bytes);
  while (fits + 1 < beyond) {
    const std::size_t middle = fits + (beyond - fits) / 2;
    if (encoded_bytes(message.substr(0, middle)) + mark.size() <= room_bytes) fits = middle;
    else beyond = middle;
  }
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(message[at]) & 0xc0) == 0x80;
  };
  while (fits > 0 && continues(fits)) --fits;
  return std::string(message.substr(0, fits)).append(mark);
}

}  // namespace

fitted_status fit_status(const status& s, std::size_t metadata_bytes, std::size_t other_bytes,
                         std::size_t limit_bytes) {
  const std::size_t message = encoded_bytes(s.message());
  const std::size_t details =
      s.details().empty() ? 0 : list_bytes(status_details_header, {}) + (s.details().size() + 2) / 3 * 4;
  const std::size_t fixed = other_bytes + list_bytes(status_header, "16") + list_bytes(message_header, {});
  std::size_t kept = details + metadata_bytes;
  if (fixed + message + kept <= limit_bytes) return {s, true, {}};
  fitted_status f;
  const auto fits = [&] { return fixed + std::min(message, short_message_bytes) + kept <= limit_bytes; };
  bool with_details = details != 0;
  if (with_details && !fits()) {
    with_details = false;
    kept -= details;
    f.left_out = "the details";
  }
  if (metadata_bytes != 0 && !fits()) {
    f.metadata = false;
    kept = details;  // which may fit now
    with_details = details != 0 && fits();
    if (!with_details) kept = 0;
    f.left_out.assign(details != 0 && !with_details ? "the details, " : "").append("the trailing metadata");
  }
  const std::size_t room = limit_bytes - std::min(limit_bytes, fixed + kept);
  std::string text(s.message());
  if (room < message) {
    text = shortened(s.message(), room);
    f.left_out.insert(0, f.left_out.empty() ? "a part of the message" : "a part of the message, ");
  }
  f.outcome = with_details ? status(s.code(), text, s.details()) : status(s.code(), text);
  return f;
}

}  // namespace coracle::protocol::grpc
