#include "xds/bootstrap/bootstrap.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "rpc/json_document.hpp"
#include "xds/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace coracle::xds {

std::string label_of(const locality& l) {
  if (l == locality()) return {};
  return "{region=\"" + l.region + "\", zone=\"" + l.zone + "\", sub_zone=\"" + l.sub_zone + "\"}";
}

namespace {

using nlohmann::json;

// Thrown to leave the parser; caught in parse_bootstrap().
struct invalid_field {
  std::string where;
  std::string reason;
};

// A value and its path from the top: "xds_servers[0].server_uri".
class json_field {
 public:
  json_field(const json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  [[noreturn]] void refuse(std::string reason) const { throw invalid_field{where_, std::move(reason)}; }
  [[nodiscard]] const json& value() const noexcept { return *value_; }

  // For an object. Null and missing are the same, as in protobuf's JSON.
  [[nodiscard]] std::optional<json_field> find(const char* name) const {
    if (!value_->is_object()) refuse("must be an object");
    const auto found = value_->find(name);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return json_field(*found, where_.empty() ? name : where_ + "." + name);
  }
  [[nodiscard]] std::vector<json_field> items(const char* name) const {
    std::vector<json_field> all;
    const auto list = find(name);
    if (!list) return all;
    if (!list->value_->is_array()) list->refuse("must be an array");
    for (std::size_t i = 0; i < list->value_->size(); ++i)
      all.emplace_back((*list->value_)[i], list->where_ + "[" + std::to_string(i) + "]");
    return all;
  }
  // The members of an object, with their names.
  [[nodiscard]] std::vector<std::pair<std::string, json_field>> members(const char* name) const {
    std::vector<std::pair<std::string, json_field>> all;
    const auto object = find(name);
    if (!object) return all;
    if (!object->value_->is_object()) object->refuse("must be an object");
    for (const auto& [key, each] : object->value_->items())
      all.emplace_back(key, json_field(each, object->where_ + "[\"" + base::printable(key) + "\"]"));
    return all;
  }
  [[nodiscard]] std::string text() const {
    if (!value_->is_string()) refuse("must be a string");
    return value_->get<std::string>();
  }
  [[nodiscard]] std::string text(const char* name) const {
    const auto found = find(name);
    return found ? found->text() : std::string();
  }
  [[nodiscard]] bool boolean(const char* name) const {
    const auto found = find(name);
    if (!found) return false;
    if (!found->value_->is_boolean()) found->refuse("must be true or false");
    return found->value_->get<bool>();
  }

 private:
  const json* value_;
  std::string where_;
};

// "600s" or "0.5s", protobuf's JSON form of a Duration.
duration interval_of(const json_field& f) {
  constexpr std::size_t digits_max = 9;  // of seconds: thirty years; and of a fraction: nanoseconds
  const std::string t = f.text();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto point = std::find_if_not(t.begin(), t.end(), is_digit);
  const std::string seconds(t.begin(), point);
  auto end = point;
  std::string fraction;
  if (end != t.end() && *end == '.') {
    end = std::find_if_not(end + 1, t.end(), is_digit);
    fraction.assign(point + 1, end);
  }
  if (seconds.empty() || seconds.size() > digits_max || fraction.size() > digits_max ||
      (point != end && fraction.empty()) || std::string(end, t.end()) != "s")
    f.refuse("must be a duration such as \"600s\"");
  fraction.resize(digits_max, '0');
  const duration d = std::chrono::seconds(std::stol(seconds)) + duration(std::stol(fraction));
  if (d <= duration::zero()) f.refuse("must be more than 0s");
  return d;
}

certificate_files files_of(const json_field& config) {
  certificate_files files;
  files.certificate = config.text("certificate_file");
  files.private_key = config.text("private_key_file");
  files.authorities = config.text("ca_certificate_file");
  files.spiffe_trust_bundles = config.text("spiffe_trust_bundle_map_file");
  if (const auto interval = config.find("refresh_interval")) files.refresh_interval = interval_of(*interval);
  if (files.certificate.empty() != files.private_key.empty())
    config.refuse("must have certificate_file and private_key_file, or neither of them");
  return files;
}

// The first known type of channel_creds holds, and all known ones of call_creds.
channel_security security_of(const json_field& server) {
  channel_security security;
  const auto channel = server.items("channel_creds");
  const auto known = std::ranges::find_if(channel, [](const json_field& each) {
    const std::string type = each.text("type");
    return type == "insecure" || type == "tls";
  });
  if (known == channel.end()) {
    const bool has_google_default = std::ranges::any_of(
        channel, [](const json_field& each) { return each.text("type") == "google_default"; });
    server.refuse(has_google_default
                      ? "has channel_creds of the type google_default alone, which is not supported; add the "
                        "type tls or insecure to the list"
                      : "requires channel_creds with the type insecure or tls");
  }
  if (known->text("type") == "tls") {
    const auto config = known->find("config");
    security.tls = config ? files_of(*config) : certificate_files();
  }
  for (const json_field& each : server.items("call_creds")) {
    if (each.text("type") != "jwt_token_file") continue;
    const auto config = each.find("config");
    std::string file = config ? config->text("jwt_token_file") : std::string();
    if (file.empty()) each.refuse("requires config.jwt_token_file");
    security.jwt_token_files.push_back(std::move(file));
  }
  return security;
}

std::vector<management_server> servers_in(const json_field& parent) {
  std::vector<management_server> servers;
  for (const json_field& each : parent.items("xds_servers")) {
    management_server server;
    server.uri = each.text("server_uri");
    if (server.uri.empty()) each.refuse("requires server_uri, a target such as \"dns:///plane.example:443\"");
    server.security = security_of(each);
    for (const json_field& feature : each.items("server_features")) {
      if (!feature.value().is_string()) continue;
      const std::string name = feature.text();
      if (name == "trusted_xds_server") server.trusted = true;
      if (name == "fail_on_data_errors") server.fail_on_data_errors = true;
      if (name == "resource_timer_is_transient_error" || name == "resource_timer_is_transient_failure")
        server.resource_timer_is_transient_error = true;
    }
    servers.push_back(std::move(server));
  }
  return servers;
}

node_identity node_of(const json_field& f) {
  node_identity node;
  node.id = f.text("id");
  node.cluster = f.text("cluster");
  if (const auto metadata = f.find("metadata")) {
    if (!metadata->value().is_object()) metadata->refuse("must be an object");
    node.metadata = metadata->value().dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (const auto where = f.find("locality"))
    node.locality = {where->text("region"), where->text("zone"), where->text("sub_zone")};
  return node;
}

authority authority_of(const std::string& name, const json_field& f, const bootstrap& top) {
  authority a;
  a.servers = servers_in(f);
  if (a.servers.empty()) a.servers = top.servers;
  if (a.servers.empty()) f.refuse("requires xds_servers, as there are none at the top");
  a.fallback_on_reachability_only = f.boolean("fallback_on_reachability_only");
  const std::string begin = "xdstp://" + name + "/";
  a.listener_template = f.text("client_listener_resource_name_template");
  if (a.listener_template.empty()) a.listener_template = begin + "envoy.config.listener.v3.Listener/%s";
  if (!a.listener_template.starts_with(begin))
    f.refuse("client_listener_resource_name_template must begin with \"" + base::printable(begin) + "\"");
  return a;
}

bootstrap bootstrap_of(const json_field& f) {
  bootstrap b;
  b.servers = servers_in(f);
  if (const auto node = f.find("node")) b.node = node_of(*node);
  for (const auto& [name, each] : f.members("authorities"))
    b.authorities.emplace(name, authority_of(name, each, b));
  if (b.servers.empty() && b.authorities.empty())
    f.refuse("requires xds_servers, the list of control planes");
  if (std::string t = f.text("client_default_listener_resource_name_template"); !t.empty())
    b.client_listener_template = std::move(t);
  if (std::string t = f.text("server_listener_resource_name_template"); !t.empty())
    b.server_listener_template = std::move(t);
  for (const auto& [name, each] : f.members("certificate_providers")) {
    if (each.text("plugin_name") != "file_watcher") continue;  // resources that name it are invalid
    const auto config = each.find("config");
    if (!config) each.refuse("requires config");
    const certificate_files files = files_of(*config);
    if (files.certificate.empty() && files.authorities.empty() && files.spiffe_trust_bundles.empty())
      config->refuse("requires certificate_file, ca_certificate_file or spiffe_trust_bundle_map_file");
    b.certificate_providers.emplace(name, files);
  }
  for (const auto& [name, each] : f.members("allowed_grpc_services"))
    b.allowed_services.emplace(name, security_of(each));
  return b;
}

// Of the characters of a path segment (RFC 3986 3.3), "/" among them.
bool in_path(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~!$&'()*+,;=:@/").find(c) != std::string_view::npos;
}

std::string filled(const std::string& listener_template, std::string_view name) {
  std::string inserted(name);
  if (listener_template.starts_with("xdstp:")) {
    inserted.clear();
    for (const char c : name) {
      if (in_path(c)) inserted += c;
      else base::percent_escape(c, inserted);
    }
  }
  const auto at = listener_template.find("%s");
  return at == std::string::npos ? listener_template
                                 : std::string(listener_template).replace(at, 2, inserted);
}

}  // namespace

const std::vector<management_server>* bootstrap::servers_of(std::string_view authority_name) const noexcept {
  if (authority_name.empty()) return &servers;
  const auto found = authorities.find(authority_name);
  return found == authorities.end() ? nullptr : &found->second.servers;
}

result<bootstrap> parse_bootstrap(std::string_view text) {
  if (text.size() > limits::bootstrap_bytes_max) {
    return status::invalid_argument("xDS bootstrap: " + std::to_string(text.size()) + " bytes, limit " +
                                    std::to_string(limits::bootstrap_bytes_max));
  }
  const rpc::json_document document(text);
  if (!document.whole().is_object()) return status::invalid_argument("xDS bootstrap: is not a JSON object");
  try {
    return bootstrap_of(json_field(document.whole(), ""));
  } catch (const invalid_field& f) {
    return status::invalid_argument("xDS bootstrap: " + f.where + (f.where.empty() ? "" : " ") + f.reason);
  }
}

result<bootstrap> read_bootstrap(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  text.resize(limits::bootstrap_bytes_max + 1);
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    return status::failed_precondition("xDS bootstrap: cannot read the file " + base::printable(path));
  text.resize(static_cast<std::size_t>(file.gcount()));
  auto parsed = parse_bootstrap(text);
  if (parsed) return parsed;
  return status(parsed.status().code(),
                std::string(parsed.status().message()) + " (in the file " + base::printable(path) + ")");
}

result<bootstrap> load_bootstrap() {
  if (const char* path = std::getenv("GRPC_XDS_BOOTSTRAP"); path && *path) return read_bootstrap(path);
  if (const char* text = std::getenv("GRPC_XDS_BOOTSTRAP_CONFIG"); text && *text)
    return parse_bootstrap(text);
  return status::failed_precondition(
      "xDS bootstrap: there is none; set the environment variable GRPC_XDS_BOOTSTRAP to the path of a "
      "bootstrap file, or "
      "GRPC_XDS_BOOTSTRAP_CONFIG to its content");
}

result<std::string> client_listener_name(const bootstrap& from, std::string_view authority_name,
                                         std::string_view name) {
  if (authority_name.empty()) return filled(from.client_listener_template, name);
  const auto found = from.authorities.find(authority_name);
  if (found == from.authorities.end()) {
    return status::unavailable("xDS: the bootstrap has no authority \"" + base::printable(authority_name) +
                               "\", which the target names; add it to \"authorities\"");
  }
  return filled(found->second.listener_template, name);
}

result<std::string> server_listener_name(const bootstrap& from, std::string_view address) {
  if (!from.server_listener_template) {
    return status::failed_precondition(
        "xDS bootstrap: a server requires server_listener_resource_name_template, which is not there");
  }
  return filled(*from.server_listener_template, address);
}

}  // namespace coracle::xds
