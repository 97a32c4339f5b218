// The handlers of the callback API: declared for generated code; a service that makes one does not compile.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

namespace grpc::internal {

template <class Request, class Reply>
class missing_callback_handler : public MethodHandler {
 public:
  template <class Function>
  explicit missing_callback_handler(Function) {
    static_assert(
        !is_missing<Function>,
        "coracle::grpcpp has no callback API yet: use the synchronous API, or Coracle's own services");
  }
  void SetMessageAllocator(MessageAllocator<Request, Reply>*) {}
  void run(server_call&) override {}
};

template <class Request, class Reply>
class CallbackUnaryHandler : public missing_callback_handler<Request, Reply> {
  using missing_callback_handler<Request, Reply>::missing_callback_handler;
};
template <class Request, class Reply>
class CallbackClientStreamingHandler : public missing_callback_handler<Request, Reply> {
  using missing_callback_handler<Request, Reply>::missing_callback_handler;
};
template <class Request, class Reply>
class CallbackServerStreamingHandler : public missing_callback_handler<Request, Reply> {
  using missing_callback_handler<Request, Reply>::missing_callback_handler;
};
template <class Request, class Reply>
class CallbackBidiHandler : public missing_callback_handler<Request, Reply> {
  using missing_callback_handler<Request, Reply>::missing_callback_handler;
};

}  // namespace grpc::internal
