// CallbackGenericService: the methods that no other service of a server has, by reactors.
#pragma once

#include <grpcpp/impl/server_callback_handlers.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>

namespace grpc {

using ServerGenericBidiReactor = ServerBidiReactor<ByteBuffer, ByteBuffer>;

class GenericCallbackServerContext final : public CallbackServerContext {
 public:
  /// "/package.Service/Method".
  const std::string& method() const { return method_; }
  /// The name that the client called, with its port if it named one.
  const std::string& host() const { return authority(); }

  GenericCallbackServerContext() = default;  // for the ContextAllocator of a program, which nothing asks
  // For the library.
  explicit GenericCallbackServerContext(std::string method) : method_(std::move(method)) {}

 private:
  std::string method_;
};

/// Registered with ServerBuilder::RegisterCallbackGenericService(), it outlives the server. Its calls are
/// streams in both directions, whatever their methods are for the client: a unary call has one message each
/// way.
class CallbackGenericService {
 public:
  virtual ~CallbackGenericService() = default;
  /// Called for each call. Null: the call ends with UNIMPLEMENTED.
  virtual ServerGenericBidiReactor* CreateReactor(GenericCallbackServerContext* /*context*/) {
    return nullptr;
  }

  // For the library: begins a call.
  void begin(internal::callback_call_seed&& seed, std::string method) {
    (new call_type(std::move(seed), create_, std::move(method)))->start();
  }

 private:
  using call_type = internal::callback_stream<ByteBuffer, ByteBuffer, GenericCallbackServerContext>;
  const typename call_type::function create_ = [this](GenericCallbackServerContext* context) {
    return CreateReactor(context);
  };
};

namespace experimental {

// Older programs name these here.
using grpc::CallbackGenericService;
using grpc::GenericCallbackServerContext;
using grpc::ServerGenericBidiReactor;

}  // namespace experimental
}  // namespace grpc
