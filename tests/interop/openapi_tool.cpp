// openapi_tool PROTOSET json|yaml [RULES]: the document of OpenAPI for all services of the last file of a
// descriptor set, for openapi_test.py.
#include <coracle/rpc/openapi.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::string content_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::FileDescriptorSet files;
  if (argc < 3 || !files.ParseFromString(content_of(argv[1]))) return 2;
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* last = nullptr;
  for (const auto& file : files.file()) last = pool.BuildFile(file);
  if (!last) return 2;
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  for (int i = 0; i < last->service_count(); ++i) services.push_back(last->service(i));

  coracle::openapi_options options;
  options.title = "Library: \"books\"";
  options.version = "2.1";
  options.servers = {"https://library.example"};
  if (argv[2] == std::string("yaml")) options.format = coracle::openapi_format::yaml;
  if (argc > 3) options.http_rules = content_of(argv[3]);
  const auto document = coracle::openapi_document(services, options);
  if (!document.ok()) {
    std::cerr << document.status() << '\n';
    return 1;
  }
  std::cout << *document;
  return 0;
}
