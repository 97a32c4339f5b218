// The server's side of the callback API: declared for generated code; it does not exist yet.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

namespace internal {

class missing_server_reactor {
 public:
  template <class T = void>
  missing_server_reactor() {
    static_assert(
        !is_missing<T>,
        "coracle::grpcpp has no callback API yet: use the synchronous API, or Coracle's own services");
  }
  virtual ~missing_server_reactor() = default;
};

}  // namespace internal

class ServerUnaryReactor : public internal::missing_server_reactor {};
template <class Request>
class ServerReadReactor : public internal::missing_server_reactor {};
template <class Reply>
class ServerWriteReactor : public internal::missing_server_reactor {};
template <class Request, class Reply>
class ServerBidiReactor : public internal::missing_server_reactor {};

}  // namespace grpc
