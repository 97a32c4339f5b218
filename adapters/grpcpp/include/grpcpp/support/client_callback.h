// The client's side of the callback API: declared for generated code; it does not exist yet.
#pragma once

#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/missing_api.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <functional>

namespace grpc {

class ClientContext;

namespace internal {

// The base of the reactors: a program that derives from one does not compile.
class missing_client_reactor {
 public:
  template <class T = void>
  missing_client_reactor() {
    static_assert(
        !is_missing<T>,
        "coracle::grpcpp has no callback API yet: use the synchronous API, or then() of Coracle's own "
        "stubs");
  }
  virtual ~missing_client_reactor() = default;
};

}  // namespace internal

class ClientUnaryReactor : public internal::missing_client_reactor {};
template <class R>
class ClientReadReactor : public internal::missing_client_reactor {};
template <class W>
class ClientWriteReactor : public internal::missing_client_reactor {};
template <class W, class R>
class ClientBidiReactor : public internal::missing_client_reactor {};

namespace internal {

template <class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
void CallbackUnaryCall(ChannelInterface*, const RpcMethod&, ClientContext*, const Request*, Reply*,
                       std::function<void(Status)>) {
  missing_api("the callback API");
}

class ClientCallbackUnaryFactory {
 public:
  template <class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
  static void Create(ChannelInterface*, const RpcMethod&, ClientContext*, const Request*, Reply*,
                     ClientUnaryReactor*) {
    missing_api("the callback API");
  }
};
template <class R>
class ClientCallbackReaderFactory {
 public:
  template <class Request>
  static void Create(ChannelInterface*, const RpcMethod&, ClientContext*, const Request*,
                     ClientReadReactor<R>*) {
    missing_api("the callback API");
  }
};
template <class W>
class ClientCallbackWriterFactory {
 public:
  template <class Reply>
  static void Create(ChannelInterface*, const RpcMethod&, ClientContext*, Reply*, ClientWriteReactor<W>*) {
    missing_api("the callback API");
  }
};
template <class W, class R>
class ClientCallbackReaderWriterFactory {
 public:
  static void Create(ChannelInterface*, const RpcMethod&, ClientContext*, ClientBidiReactor<W, R>*) {
    missing_api("the callback API");
  }
};

}  // namespace internal
}  // namespace grpc
