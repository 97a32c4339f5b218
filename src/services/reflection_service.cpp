#include "coracle/services/reflection_service.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "services/reflection.coracle.hpp"
#include "services/served_names.hpp"
#include "wellknown/descriptors.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::services {

// Finds files among those that the program has given, which have comments, in the pool of all generated code
// of the program, then among the files of gRPC's own services. Threads may share it. The result is null if
// nothing is found.
class descriptor_lookup {
 public:
  using file = const google::protobuf::FileDescriptor*;

  // Throws usage_error if `descriptor_set` is none.
  explicit descriptor_lookup(const std::string& descriptor_set);
  [[nodiscard]] file by_name(const std::string& name) const;
  [[nodiscard]] file containing_symbol(const std::string& full_name) const;
  [[nodiscard]] file containing_extension(const std::string& extended, int number) const;
  // In ascending order; empty optional if there is no such message.
  [[nodiscard]] std::optional<std::vector<int>> extension_numbers(const std::string& extended) const;

 private:
  // Built at once: a pool that reads a database keeps every name that it was asked for in vain.
  google::protobuf::DescriptorPool given_;
  google::protobuf::DescriptorPool own_;  // the files of wellknown/descriptors.hpp
};

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

namespace {

const DescriptorPool& generated() { return *DescriptorPool::generated_pool(); }

}  // namespace

descriptor_lookup::descriptor_lookup(const std::string& descriptor_set) {
  google::protobuf::FileDescriptorSet given;
  if (!given.ParseFromString(descriptor_set))
    throw usage_error(
        "the descriptor set of reflection_service is none; protoc --include_imports --include_source_info "
        "--descriptor_set_out=FILE writes one");
  for (const google::protobuf::FileDescriptorProto& f : given.file()) {
    if (given_.FindFileByName(f.name())) continue;  // sets may have the same imports
    if (!given_.BuildFile(f))
      throw usage_error("the descriptor set of reflection_service has no imports of " + f.name() +
                        ", or they do not stand before it: protoc --include_imports writes them");
  }
  const std::string_view bytes = wellknown::descriptors();
  google::protobuf::FileDescriptorSet files;
  CORACLE_ASSERT(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
                 "the embedded descriptors are not valid: rebuild the library");
  for (const google::protobuf::FileDescriptorProto& f : files.file()) own_.BuildFile(f);
}

descriptor_lookup::file descriptor_lookup::by_name(const std::string& name) const {
  file found = given_.FindFileByName(name);
  if (!found) found = generated().FindFileByName(name);
  return found ? found : own_.FindFileByName(name);
}

descriptor_lookup::file descriptor_lookup::containing_symbol(const std::string& full_name) const {
  file found = given_.FindFileContainingSymbol(full_name);
  if (!found) found = generated().FindFileContainingSymbol(full_name);
  return found ? found : own_.FindFileContainingSymbol(full_name);
}

descriptor_lookup::file descriptor_lookup::containing_extension(const std::string& extended,
                                                                int number) const {
  // gRPC's own services extend no messages.
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

namespace coracle {

namespace {

using services::descriptor_lookup;
using wellknown::reflection::v1::ServerReflectionRequest;
using wellknown::reflection::v1::ServerReflectionResponse;

void refuse(ServerReflectionResponse& reply, status_code code, const std::string& reason) {
  auto& error = *reply.mutable_error_response();
  error.set_error_code(static_cast<int>(code));
  error.set_error_message(reason);
}

// Answers the requests of one call.
class conversation {
 public:
  conversation(const descriptor_lookup& descriptors, const service_host* host) noexcept
      : descriptors_(descriptors), host_(host) {}

  ServerReflectionResponse answer(const ServerReflectionRequest& question) {
    ServerReflectionResponse reply;
    reply.set_valid_host(question.host());
    *reply.mutable_original_request() = question;
    switch (question.message_request_case()) {
      case ServerReflectionRequest::kFileByFilename:
        add_file(reply, descriptors_.by_name(question.file_by_filename()), question.file_by_filename());
        break;
      case ServerReflectionRequest::kFileContainingSymbol:
        add_file(reply, descriptors_.containing_symbol(question.file_containing_symbol()),
                 question.file_containing_symbol());
        break;
      case ServerReflectionRequest::kFileContainingExtension: {
        const auto& e = question.file_containing_extension();
        add_file(reply, descriptors_.containing_extension(e.containing_type(), e.extension_number()),
                 "extension " + std::to_string(e.extension_number()) + " of " + e.containing_type());
        break;
      }
      case ServerReflectionRequest::kAllExtensionNumbersOfType:
        add_extension_numbers(reply, question.all_extension_numbers_of_type());
        break;
      case ServerReflectionRequest::kListServices: add_services(reply); break;
      case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
        refuse(reply, status_code::invalid_argument,
               "the request has no message_request that the server supports");
    }
    return reply;
  }

 private:
  void add_file(ServerReflectionResponse& reply, descriptor_lookup::file found,
                const std::string& requested) {
    if (!found) return refuse(reply, status_code::not_found, "no descriptor for " + requested);
    auto& files = *reply.mutable_file_descriptor_response();
    sent_.erase(std::string(found->name()));  // the requested file is always in the answer
    add_with_imports(files, found);
  }

  // Adds the file, then its imports, except the files that this call has sent already.
  template <class Files>
  void add_with_imports(Files& files, descriptor_lookup::file f) {
    if (!sent_.insert(std::string(f->name())).second) return;
    google::protobuf::FileDescriptorProto proto;
    f->CopyTo(&proto);
    f->CopyJsonNameTo(&proto);
    f->CopySourceCodeInfoTo(&proto);
    *files.add_file_descriptor_proto() = proto.SerializeAsString();
    for (int i = 0; i < f->dependency_count(); ++i) add_with_imports(files, f->dependency(i));
  }

  void add_extension_numbers(ServerReflectionResponse& reply, const std::string& extended) {
    const auto numbers = descriptors_.extension_numbers(extended);
    if (!numbers) return refuse(reply, status_code::not_found, "no message type " + extended);
    auto& answer = *reply.mutable_all_extension_numbers_response();
    answer.set_base_type_name(extended);
    for (const int n : *numbers) answer.add_extension_number(n);
  }

  void add_services(ServerReflectionResponse& reply) {
    auto& list = *reply.mutable_list_services_response();
    if (!host_) return;
    for (const std::string& name : services::served_names(*host_))
      if (descriptors_.containing_symbol(name)) list.add_service()->set_name(name);
  }

  const descriptor_lookup& descriptors_;
  const service_host* host_;
  std::set<std::string> sent_;  // by name: two pools may have a file
};

}  // namespace

class reflection_service::implementation final
    : public wellknown::reflection::v1::rpc::ServerReflection::service {
 public:
  explicit implementation(const std::string& descriptor_set) : descriptors_(descriptor_set) {}

  replies<ServerReflectionResponse> ServerReflectionInfo(server_context&,
                                                         reader<ServerReflectionRequest> questions) override {
    conversation c(descriptors_, host_);
    ServerReflectionRequest question;
    while (co_await questions.read(question)) {
      const ServerReflectionResponse reply = c.answer(question);
      co_yield reply;
    }
    co_return status();
  }

  // v1alpha differs from v1 only in its name.
  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr std::array table{
        bidi_method<&service::ServerReflectionInfo>(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
        bidi_method<&service::ServerReflectionInfo>(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"),
    };
    return table;
  }

  [[nodiscard]] bool is_limited() const noexcept override { return false; }
  void added_to(const service_host& host) override { host_ = &host; }

 private:
  const descriptor_lookup descriptors_;
  const service_host* host_ = nullptr;
};

reflection_service::reflection_service(const std::string& descriptor_set)
    : implementation_(std::make_unique<implementation>(descriptor_set)) {}
reflection_service::~reflection_service() = default;
reflection_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
