// schema: the services that a page calls, and their messages as JSON and as bytes.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class FileDescriptorSet;
}

namespace coracle::console {

// Its members may be called on several loops at the same time. Messages and descriptors do not outlive it.
class schema {
 public:
  schema(const google::protobuf::FileDescriptorSet& files, std::vector<std::string> services);

  // The services whose definitions are complete, by name.
  [[nodiscard]] const std::vector<const google::protobuf::ServiceDescriptor*>& services() const noexcept {
    return services_;
  }
  // What is wrong with the definitions, for people; empty if nothing is.
  [[nodiscard]] const std::string& errors() const noexcept { return errors_.text; }
  // `path` is "/package.Service/Method". Null if there is none.
  [[nodiscard]] const google::protobuf::MethodDescriptor* find_method(std::string_view path) const;

  // Returns the encoded message. INVALID_ARGUMENT, which names the field.
  [[nodiscard]] result<std::string> to_bytes(const google::protobuf::Descriptor& type,
                                             std::string_view json) const;
  // Returns the message as JSON; a failure if the bytes are not such a message, or it has no JSON.
  [[nodiscard]] result<std::string> to_json(const google::protobuf::Descriptor& type,
                                            std::string_view bytes) const;
  // Returns the type of an error detail: one of the definitions, or one of google.rpc. Null if it is unknown.
  [[nodiscard]] const google::protobuf::Descriptor* find_detail(std::string_view type_name) const;

 private:
  struct error_collector final : google::protobuf::DescriptorPool::ErrorCollector {
    // protobuf calls the first before its version 22, and the second from then on: neither can be marked
    // `override`. NOLINTBEGIN(modernize-use-override)
    void AddError(const std::string& file, const std::string& element, const google::protobuf::Message* of,
                  ErrorLocation at, const std::string& reason) {
      RecordError(file, element, of, at, reason);
    }
    void RecordError(std::string_view file, std::string_view element, const google::protobuf::Message* of,
                     ErrorLocation at, std::string_view reason);
    // NOLINTEND(modernize-use-override)
    std::string text;
  };
  // Makes a type of the pool into a message, by whichever factory is its own.
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make(
      const google::protobuf::Descriptor& type) const;

  google::protobuf::SimpleDescriptorDatabase files_;
  error_collector errors_;
  google::protobuf::DescriptorPool pool_;
  mutable google::protobuf::DynamicMessageFactory factory_;
  std::vector<const google::protobuf::ServiceDescriptor*> services_;
};

}  // namespace coracle::console
