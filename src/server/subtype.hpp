// subtype: what follows "application/grpc" in a content-type, and what a server does about it.
#pragma once

#include "coracle/rpc/message_codec.hpp"
#include "transport/header_block.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

struct subtype {
  std::string name;                   // "", "proto", "json", ...
  const message_codec* form;          // null: protobuf's binary format
  transport::header_block reply_head; // a reply's content-type is its request's
};

// Those that a server knows. Filled before the first connection, read by every loop afterwards.
class subtype_table {
 public:
  subtype_table();
  // The codec must outlive the table; a name that is taken or malformed is a defect of the caller (abort).
  void add(const message_codec& form);
  // Nothing for one that the server does not know.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;
  [[nodiscard]] const subtype& at(std::uint32_t index) const noexcept { return rows_[index]; }

 private:
  std::vector<subtype> rows_;
};

// Of a name that no table has.
subtype make_subtype(std::string_view name, const message_codec* form);

}  // namespace coracle::server_internal
