// protoc with C++ alone: the generators of other languages are half of its build, and come as plugins where a
// test needs them.

#include <google/protobuf/compiler/command_line_interface.h>
#include <google/protobuf/compiler/cpp/generator.h>

int main(int argc, char* argv[]) {
  google::protobuf::compiler::CommandLineInterface protoc;
  protoc.AllowPlugins("protoc-");
  google::protobuf::compiler::cpp::CppGenerator cpp;
  protoc.RegisterGenerator("--cpp_out", "--cpp_opt", &cpp, "Generates C++ headers and sources.");
  return protoc.Run(argc, argv);
}
