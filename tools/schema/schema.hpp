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

// A source of definitions. Its functions may block, so they are not called on a loop.
class definitions {
 public:
  virtual ~definitions() = default;
  // The names of all services; throws failure.
  virtual std::vector<std::string> services() = 0;
  virtual google::protobuf::DescriptorDatabase& files() = 0;
  // The files to read before any name is looked up, if the database cannot find files by symbol.
  virtual std::vector<std::string> first() { return {}; }
  // The reason why something was not found, if there is one besides that it does not exist.
  virtual std::string errors() const { return {}; }
};

// For threads that drive no loop; several may use it concurrently. Messages must not outlive it.
class schema {
 public:
  explicit schema(std::unique_ptr<definitions> from);

  // Returns the names sorted; those of gRPC itself are the last.
  [[nodiscard]] const std::vector<std::string>& services();
  // Those of the services that have a definition, which a server may lack. Throws failure if none has one.
  [[nodiscard]] std::vector<const google::protobuf::ServiceDescriptor*> defined_services();
  // Finds "package.Service/Method", "package.Service.Method", or the last parts of either if they are unique;
  // all names may begin with a dot. Throws failure, which suggests or lists the available names.
  [[nodiscard]] const google::protobuf::MethodDescriptor& method(std::string_view name);
  [[nodiscard]] const google::protobuf::ServiceDescriptor& service(std::string_view name);
  // "package.Service/Method" of all of them.
  [[nodiscard]] std::vector<std::string> method_names();
  // The messages and enums in files(), but protobuf's own.
  [[nodiscard]] std::vector<std::string> type_names();
  // The files of the definitions with their imports, imports first; those of the services, if a server has
  // the definitions.
  [[nodiscard]] std::vector<const google::protobuf::FileDescriptor*> files();
  // Finds a message among files() by the last parts of its name. Null if there is none, or more than one.
  [[nodiscard]] const google::protobuf::Descriptor* find_message_ending(std::string_view parts);
  [[nodiscard]] const google::protobuf::EnumDescriptor* find_enum_ending(std::string_view parts);
  // These return null if there is nothing with that name.
  [[nodiscard]] const google::protobuf::ServiceDescriptor* find_service(std::string_view name);
  [[nodiscard]] const google::protobuf::MethodDescriptor* find_method(std::string_view name);
  [[nodiscard]] const google::protobuf::Descriptor* find_message(const std::string& name);
  [[nodiscard]] const google::protobuf::EnumDescriptor* find_enum(const std::string& name);
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make(const google::protobuf::Descriptor& type);

 private:
  class error_collector final : public google::protobuf::DescriptorPool::ErrorCollector {
   public:
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
  [[nodiscard]] std::string because() const;

  std::unique_ptr<definitions> from_;
  error_collector error_collector_;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  std::vector<std::string> services_;
  bool services_known_ = false;
};

// Removes the JSON names that protoc stores in descriptors, if they are the default ones, so that they do not
// clutter printed definitions.
void forget_usual_json_names(google::protobuf::FileDescriptorProto& file);

// Whether the service is of gRPC itself: health, reflection, channelz. Packages that begin with "grpc." may
// also be of others, such as grpc-gateway's examples.
[[nodiscard]] bool is_of_grpc(std::string_view service) noexcept;

// Returns "/package.Service/Method".
[[nodiscard]] std::string path_of(const google::protobuf::MethodDescriptor& method);

}  // namespace coracle::tools
