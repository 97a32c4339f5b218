#include "tools/schema/session.hpp"

#include "tools/failure.hpp"
#include "tools/schema/definition_files.hpp"
#include "tools/schema/from_files.hpp"
#include "tools/schema/reflected.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace coracle::tools {

namespace pb = google::protobuf;

void session::add_to(CLI::App& command, endpoint::address_use use) {
  where_.add_to(command, use);
  constexpr const char* group = "Definitions (default: the server's reflection)";
  const auto add = [&](const char* names, std::vector<std::string>& to, const char* text) {
    command.add_option(names, to, text)->group(group)->take_all()->allow_extra_args(false);
  };
  add("--proto", protos_, "reads definitions from this .proto file");
  add("-I,--import", import_dirs_, "looks for .proto files and their imports in this folder");
  add("--protoset", protosets_, "reads definitions from this descriptor set");
  add("--reflect-header", reflection_headers_, "'name: value' with the calls of reflection only");
}

void session::take_name_for_address(std::vector<std::string>& names) {
  const std::string& first = where_.typed_address();
  if (!has_files()) {
    if (first.empty())
      throw usage_failure("ADDRESS is required: a server's host:port; or --proto FILE or --protoset FILE");
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
  const auto routes = rest_methods::make(copies(methods));
  if (!routes.ok()) throw failure(std::string(routes.status().message()));
  options.rest = *routes;
  return options;
}

// The channel converts messages on its loop, where a type must not be looked up by a call of reflection: their
// pool has all files from the beginning.
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
  metadata headers;
  for (const std::string& line : reflection_headers_) endpoint::add_header(line, headers);
  types_ = std::make_unique<schema>(reflected(server(), where_, std::move(headers)));
  return *types_;
}

}  // namespace coracle::tools
