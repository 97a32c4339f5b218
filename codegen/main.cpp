// main: protoc-gen-coracle, which protoc runs and talks to over standard input and output.
#include "codegen/generator.hpp"
#include "codegen/options.hpp"
#include "coracle/base/version.hpp"

#include <google/protobuf/compiler/plugin.h>
#include <google/protobuf/compiler/plugin.pb.h>

#include <cstdio>
#include <string>
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

// Why these files cannot be generated, or nothing: protobuf's descriptors do not know editions before version
// 27, and refuse such files without words that help.
std::string edition_error(const google::protobuf::compiler::CodeGeneratorRequest& request) {
  if (GOOGLE_PROTOBUF_VERSION >= 5027000) return {};
  for (const google::protobuf::FileDescriptorProto& file : request.proto_file())
    if (file.syntax() == "editions")
      return file.name() +
             " is a file of an edition, and this protoc-gen-coracle was built with a protobuf older than 27, "
             "which knows none; "
             "fix: build Coracle with protobuf 27 or newer, or write syntax = \"proto3\" in place of the "
             "edition";
  return {};
}

// Answers protoc's request.
int generate(std::FILE* from, std::FILE* to) {
  google::protobuf::compiler::CodeGeneratorRequest request;
  if (!request.ParseFromFileDescriptor(fileno(from))) {
    std::fprintf(stderr,
                 "protoc-gen-coracle: standard input is not a request of protoc, which has to run this "
                 "program; see --help\n");
    return 1;
  }
  google::protobuf::compiler::CodeGeneratorResponse response;
  std::string error = edition_error(request);
  if (!error.empty()) {
    response.set_error(error);
  } else if (!GenerateCode(request, coracle::codegen::generator(), &response, &error)) {
    std::fprintf(stderr, "protoc-gen-coracle: %s\n", error.c_str());
    return 1;
  }
  if (response.SerializeToFileDescriptor(fileno(to))) return 0;
  std::perror("protoc-gen-coracle: cannot write the response");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    const std::string_view argument = argv[1];
    if (argument == "--version") return print_version();
    if (argument == "--help" || argument == "-h") return print_help();
  }
  if (argc > 1) {
    std::fprintf(
        stderr,
        "protoc-gen-coracle: unknown option %s; protoc passes options on by --coracle_opt, see --help\n",
        argv[1]);
    return 1;
  }
  return generate(stdin, stdout);
}
