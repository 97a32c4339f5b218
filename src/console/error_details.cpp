#include "console/error_details.hpp"

#include "coracle/base/impl/assert.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

namespace coracle::console {

namespace {

// A descriptor set, made by src/console/assets.cmake: generated classes would stand twice in a program that
// has its own of the same definitions.
constexpr unsigned char error_details_bytes[] = {
#include "console/assets/error_details.inc"
};

struct error_detail_types {
  error_detail_types() {
    google::protobuf::FileDescriptorSet files;
    CORACLE_ASSERT(files.ParseFromArray(error_details_bytes, sizeof error_details_bytes),
                   "the embedded descriptors are not valid: rebuild the library");
    for (const google::protobuf::FileDescriptorProto& file : files.file()) pool.BuildFile(file);
  }
  google::protobuf::DescriptorPool pool;
  google::protobuf::DynamicMessageFactory factory;
};

error_detail_types& known_details() {
  static auto& types = *new error_detail_types;  // never destroyed: calls may run while the program exits
  return types;
}

}  // namespace

const google::protobuf::Descriptor* find_error_detail(const std::string& type_name) {
  return known_details().pool.FindMessageTypeByName(type_name);
}

std::unique_ptr<google::protobuf::Message> make_error_detail(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<google::protobuf::Message>(known_details().factory.GetPrototype(&type)->New());
}

}  // namespace coracle::console
