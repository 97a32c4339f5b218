// openapi: coracle openapi describes services that are called over plain HTTP as a document of OpenAPI.
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/files/output_file.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <coracle/rpc/openapi.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace coracle::tools {

namespace {

struct openapi {
  session at;
  std::vector<std::string> services;
  std::string output, format;
  bool rest_only = false, force = false;
  openapi_options options;

  int run() {
    at.take_name_for_address(services);
    options.json_methods = !rest_only;
    options.http_rules = at.http_rules();
    const bool named_yaml = output.ends_with(".yaml") || output.ends_with(".yml");
    options.format =
        format == "yaml" || (format.empty() && named_yaml) ? openapi_format::yaml : openapi_format::json;
    // A server may have services of others, whose rules this program's user cannot repair.
    options.on_invalid_rule = [](const std::string& reason) {
      print_warning(reason + "; the document leaves this route out");
    };
    std::error_code unknown;
    if (!force && std::filesystem::is_regular_file(output, unknown))
      throw failure(output + " exists; choose another name, or replace it with --force");
    output_file file(output);
    const auto document = openapi_document(described(), options);
    if (!document.ok()) throw failure(std::string(document.status().message()));
    if (file.requested() && !file.to_stdout()) file.write(*document);
    else print(*document);
    return 0;
  }

  // Those that were named; otherwise all but gRPC's own: health, reflection, channelz.
  std::vector<const google::protobuf::ServiceDescriptor*> described() {
    std::vector<const google::protobuf::ServiceDescriptor*> all;
    for (const std::string& name : services) all.push_back(&at.types().service(name));
    if (services.empty())
      for (const auto* one : at.types().defined_services())
        if (!is_of_grpc(std::string(one->full_name()))) all.push_back(one);
    if (all.empty()) throw failure("there is no service to describe");
    return all;
  }
};

}  // namespace

void add_openapi(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "openapi", "Describe services as OpenAPI 3.1; with --proto or --protoset it needs no ADDRESS");
  const auto it = std::make_shared<openapi>();
  it->at.add_to(*command, endpoint::address_use::optional);
  it->at.add_http_rules_to(*command);
  command->add_option("SERVICE", it->services, "package.Service; default: all but those of gRPC itself");
  command->add_option("-o,--output", it->output, "The file to write; default: the standard output")
      ->type_name("FILE");
  command->add_flag("--force", it->force, "Replace the file of --output if it exists");
  command
      ->add_option("--format", it->format,
                   "The format; default: yaml if the file's name ends with it, else json")
      ->check(CLI::IsMember({"json", "yaml"}));
  command->add_option("--title", it->options.title, "The title of the API")
      ->type_name("TEXT")
      ->capture_default_str();
  command->add_option("--api-version", it->options.version, "The version of the API")
      ->type_name("TEXT")
      ->capture_default_str();
  command
      ->add_option("--url", it->options.servers, "The base URL of a server, such as https://api.example.org")
      ->type_name("URL")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--rest-only", it->rest_only,
                    "Leave out POST /package.Service/Method, which servers with the JSON codec answer");
  command->add_flag("--proto-field-names", it->options.proto_field_names,
                    "Name fields as the .proto file does, for a server with rest_options::proto_field_names");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
