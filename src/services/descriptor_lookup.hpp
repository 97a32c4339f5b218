// descriptor_lookup: finds descriptors by what reflection is asked.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <vector>

namespace coracle::services {

// In the pool of all generated code of the program, else among those of gRPC's own services. Threads may share it.
// Whatever is not there is null.
class descriptor_lookup {
 public:
  using file = const google::protobuf::FileDescriptor*;

  descriptor_lookup();
  [[nodiscard]] file by_name(const std::string& name) const;
  [[nodiscard]] file containing_symbol(const std::string& full_name) const;
  [[nodiscard]] file containing_extension(const std::string& extended, int number) const;
  // In order; none for what is no message.
  [[nodiscard]] std::optional<std::vector<int>> extension_numbers(const std::string& extended) const;

 private:
  google::protobuf::DescriptorPool own_;  // of wellknown/descriptors.hpp
};

}  // namespace coracle::services
