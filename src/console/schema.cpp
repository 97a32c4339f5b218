#include "console/schema.hpp"

#include "base/printable.hpp"
#include "console/error_details.hpp"
#include "rpc/json_mapping.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <set>
#include <utility>

namespace coracle::console {

namespace pb = google::protobuf;

namespace {

constexpr std::size_t errors_bytes_max = 4096;

}  // namespace

void schema::error_collector::RecordError(std::string_view file, std::string_view element, const pb::Message*,
                                          ErrorLocation, std::string_view reason) {
  if (text.size() < errors_bytes_max)
    text += base::printable(file) + ": " + base::printable(element) + ": " + base::printable(reason) + "\n";
}

schema::schema(const pb::FileDescriptorSet& files, std::vector<std::string> services)
    : pool_(&files_, &errors_), factory_(&pool_) {
  std::set<std::string> added;  // a second file of the same name would be logged by protobuf
  for (const pb::FileDescriptorProto& file : files.file())
    if (added.insert(file.name()).second) files_.Add(file);
  std::sort(services.begin(), services.end());
  services.erase(std::unique(services.begin(), services.end()), services.end());
  for (const std::string& name : services) {
    if (const pb::ServiceDescriptor* const service = pool_.FindServiceByName(name))
      services_.push_back(service);
    else if (errors_.text.size() < errors_bytes_max)
      errors_.text += "the server lists " + base::printable(name) + " and has no definition of it\n";
  }
}

const pb::MethodDescriptor* schema::find_method(std::string_view path) const {
  const std::size_t end = path.rfind('/');
  if (!path.starts_with('/') || end == 0 || end == std::string_view::npos) return nullptr;
  const auto service = std::find_if(services_.begin(), services_.end(), [&](const auto* one) {
    return one->full_name() == path.substr(1, end - 1);
  });
  if (service == services_.end()) return nullptr;
  return (*service)->FindMethodByName(std::string(path.substr(end + 1)));
}

std::unique_ptr<pb::Message> schema::make(const pb::Descriptor& type) const {
  if (type.file()->pool() != &pool_) return make_error_detail(type);
  return std::unique_ptr<pb::Message>(factory_.GetPrototype(&type)->New());
}

result<std::string> schema::to_bytes(const pb::Descriptor& type, std::string_view json) const {
  const auto message = make(type);
  if (status wrong = rpc::read_json(*message, json); !wrong.ok()) return wrong;
  if (!message->IsInitialized())  // proto2
    return status::invalid_argument("required fields are missing: " + message->InitializationErrorString());
  return message->SerializeAsString();
}

result<std::string> schema::to_json(const pb::Descriptor& type, std::string_view bytes) const {
  const auto message = make(type);
  if (!message->ParsePartialFromString(std::string(bytes)))
    return status::internal("the bytes are no " + std::string(type.full_name()) +
                            ": are the definitions those of the server?");
  std::string json;
  if (status wrong = rpc::write_json(*message, json); !wrong.ok()) return wrong;
  return json;
}

const pb::Descriptor* schema::find_detail(std::string_view type_name) const {
  if (const pb::Descriptor* const type = pool_.FindMessageTypeByName(std::string(type_name))) return type;
  return find_error_detail(std::string(type_name));
}

}  // namespace coracle::console
