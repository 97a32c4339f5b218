// library_server: an interceptor checks every request against the rules in library.proto; the handlers need not.
#include "../command_line.hpp"
#include "library.coracle.hpp"

#include <coracle/server.hpp>
#include <coracle/server/server_interceptor.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace {

// --8<-- [start:validate]
// Returns INVALID_ARGUMENT for the first field that breaks a rule of its .proto file, whatever the type of the message.
coracle::status follows_its_rules(const google::protobuf::Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& fields = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    const auto& rules = field.options();
    if (field.is_repeated()) continue;
    if (rules.GetExtension(library::required) && !fields.HasField(message, &field))
      return coracle::status::invalid_argument(std::string(field.full_name()) + " is required");
    const auto max_bytes = rules.GetExtension(library::max_bytes);
    if (max_bytes != 0 && field.cpp_type() == field.CPPTYPE_STRING &&
        fields.GetString(message, &field).size() > max_bytes)
      return coracle::status::invalid_argument(std::string(field.full_name()) + " is longer than " +
                                               std::to_string(max_bytes) + " bytes");
  }
  return coracle::ok;
}

class rules final : public coracle::message_hooks {
  coracle::status on_request(coracle::intercepted_message& request) override {
    if (!request.is<google::protobuf::Message>()) return coracle::ok;  // the bytes of a generic call
    return follows_its_rules(request.as<google::protobuf::Message>());
  }
};

// Checks every request of every method against the rules, including those of streams.
class validating final : public coracle::server_interceptor {
 public:
  coracle::task<coracle::status> intercept(coracle::server_context&, coracle::next_handler next) override {
    co_return co_await next(rules_);
  }

 private:
  const std::shared_ptr<coracle::message_hooks> rules_ = std::make_shared<rules>();  // has no state
};
// --8<-- [end:validate]

class shelf final : public library::rpc::Library::service {
  coracle::reply<library::Book> Find(coracle::server_context&, const library::FindRequest& request) override {
    std::printf("looking for %s\n", examples::printable(request.isbn()).c_str());
    std::fflush(stdout);
    const std::lock_guard lock(mutex_);
    const auto found = books_.find(request.isbn());
    if (found == books_.end()) return coracle::status::not_found("no such book");
    return found->second;
  }
  coracle::reply<library::AddReply> Add(coracle::server_context&,
                                        coracle::reader<library::Book> books) override {
    library::AddReply reply;
    while (auto book = co_await books.next()) {
      const std::lock_guard lock(mutex_);
      books_[book->isbn()] = *book;
      reply.set_added(reply.added() + 1);
    }
    co_return reply;
  }

  std::mutex mutex_;
  std::map<std::string, library::Book> books_;
};

}  // namespace

int main(int argc, char** argv) {
  return examples::run("library_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT");
    shelf service;
    coracle::server server;
    server.add(service);
    server.add_interceptor(std::make_shared<validating>());
    const auto address = "127.0.0.1:" + std::to_string(line.port("port"));
    server.listen(address, coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
