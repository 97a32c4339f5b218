#include "naming/etcd_names.hpp"

#include "base/printable.hpp"
#include "naming/attributes.hpp"
#include "rpc/json_document.hpp"
#include "rpc/json_syntax.hpp"

#include <algorithm>

namespace coracle::naming {

namespace {

using nlohmann::json;

// The operations of a value.
constexpr int value_adds = 0;
constexpr int value_deletes = 1;

result<std::optional<client::endpoint>> read_etcd_value(std::string_view value) {
  if (value.size() > etcd_names::value_bytes_max)
    return status::invalid_argument("it has more than " + std::to_string(etcd_names::value_bytes_max) +
                                    " bytes");
  if (const status valid = check_document(value); !valid.ok())
    return status::invalid_argument(base::printable(valid.message()));
  const rpc::json_document document(value);
  const json& all = document.whole();
  if (!all.is_object()) return status::invalid_argument("it is no object of JSON");
  int operation = value_adds;
  if (const auto op = all.find("Op"); op != all.end()) {
    if (!op->is_number_unsigned() || op->get<std::uint64_t>() > value_deletes)
      return status::invalid_argument("Op is neither 0 nor 1");
    operation = op->get<int>();
  }
  if (operation == value_deletes) return std::optional<client::endpoint>();
  const auto address = all.find("Addr");
  if (address == all.end() || !address->is_string()) return status::invalid_argument("it has no Addr");
  const result<net::address> at = net::address::parse(address->get_ref<const std::string&>());
  if (!at) return status::invalid_argument(base::printable(at.status().message()));
  client::endpoint server(*at);
  if (const auto metadata = all.find("Metadata"); metadata != all.end()) {
    if (const auto weight = weight_in(*metadata, "weight")) server.set_weight(*weight);
    add_attributes(server, *metadata);
  }
  return std::optional(std::move(server));
}

}  // namespace

bool is_etcd_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= etcd_names::key_bytes_max / 2 && name.front() != '/' &&
         name.back() != '/' &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string write_etcd_value(const client::endpoint& server) {
  std::string value = R"({"Op":0,"Addr":)";
  rpc::append_json_string(value, server.address().to_string());
  std::string metadata;
  if (server.weight() != 1) metadata = R"("weight":)" + std::to_string(server.weight());
  for (const auto& [name, text] : server.attributes()) {
    if (!metadata.empty()) metadata += ',';
    rpc::append_json_string(metadata, name);
    metadata += ':';
    rpc::append_json_string(metadata, text);
  }
  return value + R"(,"Metadata":)" + (metadata.empty() ? "null" : "{" + metadata + "}") + "}";
}

status etcd_names::put(const etcd::key_value& pair) {
  if (!pair.key.starts_with(prefix_) || pair.key.size() > key_bytes_max) return {};
  by_key_.insert_or_assign(pair.key, read_etcd_value(pair.value));
  if (by_key_.size() > keys_max)
    return status::resource_exhausted("there are more than " + std::to_string(keys_max) + " keys below " +
                                      prefix_);
  return {};
}

result<std::string> etcd_names::add_page(const etcd::range_response& page, std::string_view from) {
  for (const etcd::key_value& pair : page.pairs) {
    if (!pair.key.starts_with(prefix_) || pair.key < from)
      return status::internal("etcd: the answer has keys that were not asked for");
    if (status failed = put(pair); !failed.ok()) return failed;
  }
  if (!page.more) return std::string();
  if (page.pairs.empty()) return status::internal("etcd: the answer is malformed");
  // Keys that are too long count as well, or they could make a list without an end.
  if (++pages_ >= pages_max)
    return status::resource_exhausted("there are more than " + std::to_string(keys_max) + " keys below " +
                                      prefix_);
  return page.pairs.back().key + '\0';
}

server_list etcd_names::servers() const {
  server_list list;
  for (const auto& [key, value] : by_key_)
    if (value.ok() && value->has_value()) list.servers.push_back(**value);
  return list;
}

std::string etcd_names::invalid() const {
  for (const auto& [key, value] : by_key_)
    if (!value.ok()) return base::printable(key) + ": " + std::string(value.status().message());
  return {};
}

}  // namespace coracle::naming
