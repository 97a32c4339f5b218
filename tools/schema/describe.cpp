// describe: coracle describe prints services, methods and messages in the syntax of .proto files, writes them
// into files, and prints templates of requests.
#include "tools/colors.hpp"
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/schema/definition_files.hpp"
#include "tools/schema/definition_text.hpp"
#include "tools/schema/message_template.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

struct describe {
  session at;
  std::vector<std::string> names;
  bool as_template = false;
  std::string protoset_out, proto_out;
  color_option colors;

  int run() {
    at.take_name_for_address(names);
    if (as_template) return print_templates(), 0;
    if (!protoset_out.empty() || !proto_out.empty()) return write(), 0;
    if (names.empty())
      for (const auto* one : at.types().defined_services()) show(definition_text(*one));
    for (const std::string& name : names)
      show(definition_text(at.types(), name, "`coracle ls -m` lists methods"));
    return 0;
  }

  void show(const std::string& text) { print(colors.use_for(stdout) ? colored_definitions(text) : text); }

  void print_templates() {
    if (names.empty()) throw usage_failure("--template needs the NAME of a method or a message");
    for (const std::string& name : names) {
      const message_template made = template_of(at.types(), type_named(name));
      print((colors.use_for(stdout) ? colored_json(made.json) : made.json) + "\n");
      for (const std::string& note : made.notes)
        std::fprintf(stderr, "coracle: %s\n", terminal_line(note).c_str());
    }
  }

  // A message, or the request of a method.
  const pb::Descriptor& type_named(const std::string& name) {
    if (const auto* type = at.types().find_message(name)) return *type;
    if (const auto* method = at.types().find_method(name)) return *method->input_type();
    if (const auto* type = at.types().find_message_ending(name)) return *type;
    return *at.types().method(name).input_type();  // which fails, and lists the methods
  }

  void write() {
    std::vector<const pb::FileDescriptor*> files;
    if (names.empty())
      for (const auto* one : at.types().defined_services()) files.push_back(one->file());
    for (const std::string& name : names) files.push_back(&file_of(name));
    files = with_imports(files);
    if (!protoset_out.empty()) write_descriptor_set(files, protoset_out);
    if (!proto_out.empty()) write_proto_files(files, proto_out);
  }

  const pb::FileDescriptor& file_of(const std::string& name) {
    if (const auto* type = at.types().find_message(name)) return *type->file();
    if (const auto* choice = at.types().find_enum(name)) return *choice->file();
    if (const auto* service = at.types().find_service(name)) return *service->file();
    if (const auto* method = at.types().find_method(name)) return *method->service()->file();
    if (const auto* type = at.types().find_message_ending(name)) return *type->file();
    return *at.types().method(name).service()->file();  // which fails, and lists the methods
  }
};

}  // namespace

void add_describe(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("describe",
                                               "Print services, methods, messages and enums as .proto text; "
                                               "with --proto or --protoset it needs no ADDRESS");
  const auto it = std::make_shared<describe>();
  it->at.add_to(*command, endpoint::address_use::optional);
  command->add_option("NAME", it->names,
                      "package.Service, package.Service/Method or package.Message; default: all services");
  CLI::Option* const as_template = command->add_flag(
      "--template", it->as_template, "Print a request with all its fields as JSON, for `coracle call -d`");
  command
      ->add_option("--protoset-out", it->protoset_out,
                   "Write a descriptor set of the definitions and their imports into this file")
      ->type_name("FILE")
      ->excludes(as_template);
  command
      ->add_option("--proto-out", it->proto_out,
                   "Write the definitions and their imports as .proto files below this folder")
      ->type_name("DIR")
      ->excludes(as_template);
  it->colors.add_to(*command);
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
