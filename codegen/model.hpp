// model: the content of a generated header in C++ names, independent of its text.
#pragma once

#include <string>
#include <vector>

namespace google::protobuf {
class FileDescriptor;
}

namespace coracle::codegen {

struct options;

struct method_model {
  std::vector<std::string> comments;
  std::string name;
  std::string path;  // "/package.Service/Method"
  std::string request;
  std::string reply;
  bool streams_requests = false;
  bool streams_replies = false;
  bool deprecated = false;
  bool no_side_effects = false;  // option idempotency_level
};

struct service_model {
  std::vector<std::string> comments;
  std::string name;
  std::string full_name;
  std::string fake;  // the class of its fake
  std::string fake_group;  // see fake_group() of names.hpp
  std::vector<method_model> methods;
  bool deprecated = false;
};

struct file_model {
  std::string proto;        // "dir/movie.proto"
  std::string header;       // "dir/movie.coracle.hpp"
  std::string fake_header;  // "dir/movie.coracle.fake.hpp"
  std::string messages;     // "dir/movie.pb.h"
  std::string module_file;  // "dir/movie.coracle.cppm"
  std::string module;       // its name, empty if there is none
  std::string package_space;  // the namespace of the messages
  std::string name_space;     // that of the services
  std::vector<std::string> types;  // what protoc declares in package_space for users
  std::vector<service_model> services;
  bool uses_deprecated_messages = false;
};

file_model model_of(const google::protobuf::FileDescriptor& file, const options& chosen);

// Why the classes of `file` cannot be put where the options want them; empty if they can.
std::string clash_of(const google::protobuf::FileDescriptor& file, const options& chosen);

}  // namespace coracle::codegen
