// main: protoc-gen-coracle, which protoc runs and talks to over standard input and output.
#include "codegen/generator.hpp"
#include "codegen/options.hpp"
#include "coracle/base/version.hpp"

#include <google/protobuf/compiler/plugin.h>

#include <cstdio>
#include <string_view>

namespace {

int print_version() {
  std::printf("protoc-gen-coracle %s, codegen contract %d\n", coracle::version_text,
              coracle::codegen_contract);
  return 0;
}

int print_help() {
  std::printf(
      "protoc runs this program when it is told to write Coracle's classes:\n"
      "  protoc --cpp_out=DIR --coracle_out=DIR [--coracle_opt=OPTION[,OPTION]] FILE.proto\n"
      "For each FILE.proto it writes FILE.coracle.hpp, which stands beside protoc's FILE.pb.h.\n"
      "%s\n",
      coracle::codegen::options_help);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    const std::string_view argument = argv[1];
    if (argument == "--version") return print_version();
    if (argument == "--help" || argument == "-h") return print_help();
  }
  const coracle::codegen::generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
