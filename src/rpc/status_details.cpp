#include "coracle/rpc/status_details.hpp"

#include "coracle/base/usage_error.hpp"
#include "rpc/detail_list.hpp"
#include "rpc/proto_wire.hpp"

#include <google/protobuf/message_lite.h>

namespace coracle::rpc {

namespace {

// The prefix that google.protobuf.Any writes itself; readers use only what follows the last slash.
constexpr std::string_view url_prefix = "type.googleapis.com/";

}  // namespace

std::optional<detail_view> read_detail(std::string_view any) {
  proto_reader in(any);
  detail_view out;
  while (in.next()) {
    if (in.field() == 1) out.type_name = in.text().substr(in.text().rfind('/') + 1);
    if (in.field() == 2) out.bytes = in.text();
  }
  if (!in.ok()) return std::nullopt;
  return out;
}

status add_detail(const status& to, std::string_view type_name, std::string_view bytes) {
  CORACLE_REQUIRE(!to.ok(), "add_detail() to an OK status: details require an error; use trailing metadata");
  std::string all(to.details());
  if (all.empty()) {
    put_number(all, 1, static_cast<std::uint64_t>(to.code()));
    put_text(all, 2, to.message());
  }
  std::string any;
  put_text(any, 1, std::string(url_prefix).append(type_name));
  put_text(any, 2, bytes);
  put_text(all, 3, any);
  return status(to.code(), to.message(), all);
}

std::optional<std::string_view> bytes_of_detail(const status& s, std::string_view type_name) {
  std::optional<std::string_view> found;
  for_each_detail(s.details(), [&](std::string_view name, std::string_view bytes) {
    if (!found && name == type_name) found = bytes;
  });
  return found;
}

std::string type_name_of(const google::protobuf::MessageLite& message) {
  return std::string(message.GetTypeName());
}

std::string bytes_of(const google::protobuf::MessageLite& message) { return message.SerializeAsString(); }

}  // namespace coracle::rpc
