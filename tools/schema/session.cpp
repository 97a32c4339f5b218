#include "tools/schema/session.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/schema/definition_files.hpp"
#include "tools/schema/from_files.hpp"
#include "tools/schema/reflected.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace coracle::tools {

namespace pb = google::protobuf;

namespace {

constexpr const char* definitions_group = "Definitions (default: the server's reflection)";

// Leaves out the rules of other services than these: a channel refuses rules of methods that it does not
// know.
std::string rules_of(const std::vector<const pb::ServiceDescriptor*>& services, const std::string& all) {
  nlohmann::json file = nlohmann::json::parse(all, nullptr, false);
  const nlohmann::json::json_pointer rules("/http/rules");
  if (file.is_discarded() || !file.contains(rules) || !file[rules].is_array()) return all;
  auto& list = file[rules].get_ref<nlohmann::json::array_t&>();
  std::erase_if(list, [&](const nlohmann::json& rule) {
    if (!rule.is_object() || !rule.contains("selector") || !rule["selector"].is_string()) return false;
    const auto& name = rule["selector"].get_ref<const std::string&>();
    return std::none_of(services.begin(), services.end(), [&](const pb::ServiceDescriptor* s) {
      return name.starts_with(std::string(s->full_name()) + ".");
    });
  });
  return file.dump();
}

}  // namespace

void session::add_to(CLI::App& command, endpoint::address_use use) {
  where_.add_to(command, use);
  const auto add = [&](const char* names, const char* type, std::vector<std::string>& to, const char* text) {
    command.add_option(names, to, text)
        ->type_name(type)
        ->group(definitions_group)
        ->take_all()
        ->allow_extra_args(false);
  };
  add("--proto", "FILE", protos_, "Read definitions from this .proto file");
  add("-I,--import", "DIR", import_dirs_, "Look for .proto files and their imports in this folder");
  add("--protoset", "FILE", protosets_, "Read definitions from this descriptor set");
  add("--reflect-header", "HEADER", reflection_headers_,
      "Send this metadata with the calls of reflection only");
}

void session::add_protocol_to(CLI::App& command) {
  where_.add_protocol_to(command);
  add_http_rules_to(command);
}

void session::add_http_rules_to(CLI::App& command) {
  command
      .add_option("--http-rules", http_rules_path_,
                  "Read rules of google.api.http from this service config file in JSON; they replace those "
                  "of the definitions")
      ->type_name("FILE")
      ->group(definitions_group);
}

std::string session::http_rules() const {
  return http_rules_path_.empty() ? std::string() : file_content(http_rules_path_);
}

void session::take_name_for_address(std::vector<std::string>& names) {
  const std::string& first = where_.typed_address();
  if (!has_files()) {
    if (first.empty())
      throw usage_failure("ADDRESS is required: a server's host:port; or --proto FILE or --protoset FILE");
    for (const std::string& name : names) where_.expect_before(name);
    return;
  }
  // The definitions come from files. Names have no colon, and all addresses except a bare host name do.
  if (!first.empty() && first.find(':') == first.npos) names.insert(names.begin(), first);
}

runtime& session::on() {
  if (!runtime_) runtime_.emplace(1);
  return *runtime_;
}

channel& session::server() {
  if (channel_) return *channel_;
  channel_options options = where_.options();
  options.http_observer = observer_;
  return channel_.emplace(on(), where_.address(), where_.credentials(), options);
}

channel session::caller(std::span<const pb::MethodDescriptor* const> methods) {
  if (where_.protocol() == call_protocol::grpc) {
    static_cast<void>(where_.http_version(true));  // --http 1.1 is an error
    return server();
  }
  return channel(on(), where_.address(), where_.credentials(), caller_options(methods));
}

channel_options session::caller_options(std::span<const pb::MethodDescriptor* const> methods) {
  const bool both_ways = std::any_of(methods.begin(), methods.end(), [](const pb::MethodDescriptor* m) {
    return m->client_streaming() && m->server_streaming();
  });
  channel_options options = where_.options();
  options.http_observer = observer_;
  options.protocol = where_.protocol();
  options.http_version = where_.http_version(both_ways);
  if (options.protocol != call_protocol::rest) return options;
  const auto services = copies(methods);
  const auto routes = rest_methods::make(services, rules_of(services, http_rules()));
  if (!routes.ok()) throw failure(std::string(routes.status().message()));
  for (const pb::MethodDescriptor* const m : methods)
    if (!routes->contains(path_of(*m)))
      throw usage_failure(
          std::string(m->full_name()) +
          " has no rule of google.api.http, which --protocol rest requires: write one into the "
          ".proto file, or into a file for --http-rules");
  options.rest = *routes;
  return options;
}

// The channel converts messages on its loop, where a type must not be looked up by a call of reflection:
// their pool has all files from the beginning.
std::vector<const pb::ServiceDescriptor*> session::copies(
    std::span<const pb::MethodDescriptor* const> methods) {
  rest_types_ = std::make_unique<pb::DescriptorPool>();
  std::vector<const pb::FileDescriptor*> files = types().files();
  for (const pb::MethodDescriptor* const m : methods) files.push_back(m->file());
  for (const pb::FileDescriptor* const file : with_imports(files)) {
    pb::FileDescriptorProto copy;
    file->CopyTo(&copy);
    rest_types_->BuildFile(copy);
  }
  std::vector<const pb::ServiceDescriptor*> services;
  for (const pb::MethodDescriptor* const m : methods)
    services.push_back(rest_types_->FindServiceByName(std::string(m->service()->full_name())));
  return services;
}

schema& session::types() {
  if (types_) return *types_;
  if (has_files()) {
    types_ = std::make_unique<schema>(from_files(protos_, import_dirs_, protosets_));
    return *types_;
  }
  types_ = std::make_unique<schema>(reflect());
  return *types_;
}

std::unique_ptr<definitions> session::reflect() {
  metadata headers;
  for (const std::string& line : reflection_headers_) endpoint::add_header(line, headers);
  return reflected(server(), where_, std::move(headers));
}

}  // namespace coracle::tools
