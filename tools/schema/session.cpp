#include "tools/schema/session.hpp"

#include "tools/failure.hpp"
#include "tools/schema/from_files.hpp"
#include "tools/schema/reflected.hpp"

#include <CLI/CLI.hpp>

namespace coracle::tools {

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
  if (!channel_) channel_.emplace(on(), where_.address(), where_.credentials(), where_.options());
  return *channel_;
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
