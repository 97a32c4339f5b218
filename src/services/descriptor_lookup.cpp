#include "services/descriptor_lookup.hpp"

#include "coracle/base/impl/assert.hpp"
#include "wellknown/descriptors.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <string_view>

namespace coracle::services {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

namespace {

const DescriptorPool& generated() { return *DescriptorPool::generated_pool(); }

}  // namespace

descriptor_lookup::descriptor_lookup() {
  const std::string_view bytes = wellknown::descriptors();
  google::protobuf::FileDescriptorSet files;
  CORACLE_ASSERT(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
                 "the embedded descriptors are broken: build the library anew");
  for (const google::protobuf::FileDescriptorProto& f : files.file()) own_.BuildFile(f);
}

descriptor_lookup::file descriptor_lookup::by_name(const std::string& name) const {
  const file found = generated().FindFileByName(name);
  return found ? found : own_.FindFileByName(name);
}

descriptor_lookup::file descriptor_lookup::containing_symbol(const std::string& full_name) const {
  const file found = generated().FindFileContainingSymbol(full_name);
  return found ? found : own_.FindFileContainingSymbol(full_name);
}

descriptor_lookup::file descriptor_lookup::containing_extension(const std::string& extended,
                                                                int number) const {
  // None of gRPC's own services extends anything.
  const Descriptor* message = generated().FindMessageTypeByName(extended);
  const FieldDescriptor* found = message ? generated().FindExtensionByNumber(message, number) : nullptr;
  return found ? found->file() : nullptr;
}

std::optional<std::vector<int>> descriptor_lookup::extension_numbers(const std::string& extended) const {
  std::vector<int> numbers;
  if (const Descriptor* message = generated().FindMessageTypeByName(extended)) {
    std::vector<const FieldDescriptor*> found;
    generated().FindAllExtensions(message, &found);
    for (const FieldDescriptor* field : found) numbers.push_back(field->number());
    std::sort(numbers.begin(), numbers.end());
  } else if (!own_.FindMessageTypeByName(extended)) {
    return std::nullopt;
  }
  return numbers;
}

}  // namespace coracle::services
