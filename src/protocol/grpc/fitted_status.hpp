// fitted_status: what of a status and its metadata fits into a header list that the peer accepts.
#pragma once

#include "coracle/base/status.hpp"
#include "protocol/grpc/wire_metadata.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// The size of a field in a header list (RFC 9113 6.5.2).
constexpr std::size_t list_bytes(std::string_view name, std::string_view value) noexcept {
  return name.size() + value.size() + 32;
}

// The size of metadata in a header list, computed without encoding it.
template <class Metadata>
[[nodiscard]] std::size_t list_bytes_of(const Metadata& m) {
  std::size_t bytes = 0;
  for (const auto field : m) {
    const std::size_t n = field.value.size();
    bytes += list_bytes(field.name, {}) + (is_binary_key(field.name) ? (n + 2) / 3 * 4 : n);
  }
  return bytes;
}

// An upper bound of the size of a status, computed without encoding it.
[[nodiscard]] inline std::size_t list_bytes_at_most(const status& s) noexcept {
  return 160 + 3 * s.message().size() + 2 * s.details().size();
}

// The part of a block with a status that is sent.
struct fitted_status {
  status outcome;  // with the code of the status
  bool metadata = true;  // false: the trailing metadata is left out
  std::string left_out;  // for the log, such as "the details"; empty if all is sent
};

// Makes the code arrive. In this order, and as far as needed: shortens the message, but not below a kilobyte;
// leaves the details out; leaves the trailing metadata out, and the details only if they do not fit then
// either; shortens the message to what is left. other_bytes: of the fields that are always sent.
[[nodiscard]] fitted_status fit_status(const status& s, std::size_t metadata_bytes, std::size_t other_bytes,
                                       std::size_t limit_bytes);

}  // namespace coracle::protocol::grpc
