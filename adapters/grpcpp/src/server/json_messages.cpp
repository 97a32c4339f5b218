#include "adapters/grpcpp/src/server/json_messages.hpp"

#include "coracle/rpc/message_codec.hpp"

#include <google/protobuf/message.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {
namespace {

using coracle::bytes_message;
using coracle::status;
using google::protobuf::Message;

std::unique_ptr<Message> new_message(const google::protobuf::Descriptor* type) {
  const Message* const model = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
  return std::unique_ptr<Message>(model ? model->New() : nullptr);
}

status without_descriptor() {
  return status::unimplemented(
      "JSON requires the descriptor of the method, which the program is not linked with");
}

}  // namespace

const google::protobuf::MethodDescriptor* linked_method(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == 0 || slash == path.npos) return nullptr;
  const auto* const service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      std::string(path.substr(1, slash - 1)));
  return service ? service->FindMethodByName(std::string(path.substr(slash + 1))) : nullptr;
}

status json_messages::usable() const { return method_ ? status() : without_descriptor(); }

status json_messages::read_request(bytes_message& changed) const {
  const auto message = method_ ? new_message(method_->input_type()) : nullptr;
  if (!message) return without_descriptor();
  if (const status read = coracle::json_codec().read(*message, changed.view()); !read.ok())
    return status::invalid_argument(read.message());
  changed = bytes_message(message->SerializePartialAsString());
  return {};
}

status json_messages::write_reply(bytes_message& changed) const {
  const auto message = method_ ? new_message(method_->output_type()) : nullptr;
  if (!message) return without_descriptor();
  if (!message->ParsePartialFromString(changed.bytes()))
    return status::internal("the reply cannot be parsed as " + std::string(message->GetTypeName()));
  std::string text;
  if (status written = coracle::json_codec().write(*message, text); !written.ok()) return written;
  changed = bytes_message(std::move(text));
  return {};
}

}  // namespace grpc::internal
