// schema: the services and messages that a command knows at run time.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Where definitions come from. Asked on plain threads.
class definitions {
 public:
  virtual ~definitions() = default;
  // The names of all services; throws failure.
  virtual std::vector<std::string> services() = 0;
  virtual google::protobuf::DescriptorDatabase& files() = 0;
  // Files to be read before any name is looked up, where the database finds no names by itself.
  virtual std::vector<std::string> first() { return {}; }
  // Why something was not found, where that is more than that it is not there.
  virtual std::string trouble() const { return {}; }
};

// For plain threads, several at a time. Messages must not outlive it.
class schema {
 public:
  explicit schema(std::unique_ptr<definitions> from);

  // Sorted.
  [[nodiscard]] const std::vector<std::string>& services();
  // "package.Service/Method", "package.Service.Method", or the last parts of either where only one has them; of all names
  // also with a dot before. Throws failure, which names what there is.
  [[nodiscard]] const google::protobuf::MethodDescriptor& method(std::string_view name);
  [[nodiscard]] const google::protobuf::ServiceDescriptor& service(std::string_view name);
  // Null when there is none of that name.
  [[nodiscard]] const google::protobuf::ServiceDescriptor* find_service(std::string_view name);
  [[nodiscard]] const google::protobuf::MethodDescriptor* find_method(std::string_view name);
  [[nodiscard]] const google::protobuf::Descriptor* find_message(const std::string& name);
  [[nodiscard]] const google::protobuf::EnumDescriptor* find_enum(const std::string& name);
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make(const google::protobuf::Descriptor& type);

 private:
  class complaints final : public google::protobuf::DescriptorPool::ErrorCollector {
   public:
    void AddError(const std::string& file, const std::string& element, const google::protobuf::Message*,
                  ErrorLocation, const std::string& why) override;
    std::string text;
  };
  [[nodiscard]] std::string because() const;

  std::unique_ptr<definitions> from_;
  complaints complaints_;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  std::vector<std::string> services_;
  bool services_known_ = false;
};

// protoc notes in descriptors how it spells each field in JSON; where that is how anybody would, it is noise in what
// is printed.
void forget_usual_json_names(google::protobuf::FileDescriptorProto& file);

// "/package.Service/Method"
[[nodiscard]] std::string path_of(const google::protobuf::MethodDescriptor& method);

}  // namespace coracle::tools
