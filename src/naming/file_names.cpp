#include "naming/file_names.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_file_names.hpp"
#include "coracle/net/file.hpp"
#include "naming/attributes.hpp"
#include "naming/watched_names.hpp"
#include "rpc/json_document.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace coracle::naming {

namespace {

using nlohmann::json;

constexpr duration file_read_pause = std::chrono::seconds(1);

status wrong_file(const std::string& where, std::string_view rule) {
  return status::invalid_argument(where + " " + std::string(rule));
}

result<client::endpoint> read_endpoint(const json& value, const std::string& where) {
  const json* text = &value;
  const json* attributes = nullptr;
  std::uint32_t weight = 1;
  if (value.is_object()) {
    text = nullptr;
    for (const auto& [name, member] : value.items()) {
      if (name == "address") {
        text = &member;
      } else if (name == "weight") {
        if (!member.is_number_unsigned() ||
            member.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
          return wrong_file(where + ".weight", "must be a whole number from 0 to 4294967295");
        weight = static_cast<std::uint32_t>(member.get<std::uint64_t>());
      } else if (name == "attributes") {
        if (!member.is_object()) return wrong_file(where + ".attributes", "must be an object");
        attributes = &member;
      } else {
        return wrong_file(where,
                          "has an unknown member: write {\"address\": \"10.0.0.1:50051\", \"weight\": 1}");
      }
    }
  }
  if (!text || !text->is_string()) return wrong_file(where, "has no address: write \"10.0.0.1:50051\"");
  result<net::address> at = net::address::parse(text->get_ref<const std::string&>());
  if (!at) return wrong_file(where, at.status().message());
  client::endpoint made(*std::move(at), weight);
  if (attributes) add_attributes(made, *attributes);
  return made;
}

}  // namespace

result<server_list> parse_server_file(std::string_view json_text) {
  if (const status valid = check_document(json_text); !valid.ok()) return valid;
  const rpc::json_document document(json_text);
  const json& all = document.whole();
  if (!all.is_object()) return wrong_file("the file", "must have an object: write {\"endpoints\": [...]}");
  server_list list;
  for (const auto& [name, value] : all.items()) {
    if (name == "serviceConfig") {
      if (!value.is_object()) return wrong_file("serviceConfig", "must be an object");
      list.service_config = value.dump();
    } else if (name != "endpoints") {
      return wrong_file("the file", "has a member that is neither endpoints nor serviceConfig");
    } else if (!value.is_array()) {
      return wrong_file("endpoints", "must be an array");
    } else {
      for (std::size_t i = 0; i < value.size(); ++i) {
        result<client::endpoint> one = read_endpoint(value[i], "endpoints[" + std::to_string(i) + "]");
        if (!one) return one.status();
        list.servers.push_back(*std::move(one));
      }
    }
  }
  if (list.servers.empty())
    return wrong_file("the file", "lists no server: write {\"endpoints\": [\"10.0.0.1:50051\"]}");
  if (!list.service_config.empty()) {
    const result<service_config> parsed = service_config::parse(list.service_config);
    if (!parsed) return wrong_file("serviceConfig:", parsed.status().message());
  }
  return list;
}

namespace {

// Compares contents rather than times: a time may be the same for two changes, and reading a small file takes
// as long as asking for its time.
class file_source final : public name_source {
 public:
  explicit file_source(std::string path) : path_(std::move(path)) {}

  task<status> follow(list_sink& to) override {
    for (;;) {
      result<std::string> text = co_await net::read_file(path_, document_bytes_max);
      if (!text.ok()) {
        last_.reset();
        to.failed(text.status());
      } else if (last_ != *text) {
        result<server_list> list = parse_server_file(*text);
        if (list) to.found(*std::move(list));
        else to.failed(status::invalid_argument(path_ + ": " + std::string(list.status().message())));
        last_ = *std::move(text);
      }
      co_await sleep_for(file_read_pause);
    }
  }

 private:
  const std::string path_;
  std::optional<std::string> last_;
};

// A target loses the slash of its path together with that of its authority.
std::string path_of(const client::target& of) {
  const std::string_view rest = std::string_view(of.text()).substr(of.text().find(':') + 1);
  return rest.starts_with("//") ? "/" + of.endpoint() : of.endpoint();
}

}  // namespace

}  // namespace coracle::naming

namespace coracle {

void with_file_names(channel_options& to) {
  naming::add_scheme(
      to, "file", [](const client::target&) -> std::string { return "localhost"; },
      [](const client::target& of) -> result<std::unique_ptr<naming::name_source>> {
        if (!of.authority().empty() && of.authority() != "localhost")
          return status::invalid_argument("\"" + of.text() + "\" names a host: write file:///path");
        return std::make_unique<naming::file_source>(naming::path_of(of));
      });
}

}  // namespace coracle
