// grpcpp_host: services in the API of grpc++ on a coracle::server, beside Coracle's own.
//
// It needs C++20 and coracle::coracle beside coracle::grpcpp.
#pragma once

#include "coracle/server/service.hpp"

#include <memory>

namespace grpc {
class Service;
}

namespace coracle {

/// Runs services that were written for grpc++ on a server of this library, and has the threads for their
/// handlers:
///
///   greeter_service greeter;           // derives from Greeter::Service, which grpc_cpp_plugin generates
///   coracle::grpcpp_host host;
///   coracle::server server(runtime);
///   server.add(host.adapt(greeter));
///
/// Services of the synchronous API and of callbacks can be adapted, with raw methods, too. Handlers of the
/// synchronous API run on threads of the host, of which there are at most 16,384; a client, by its address, may
/// have as many of them as are free. A call that finds none ends with RESOURCE_EXHAUSTED. Callbacks run on the
/// loop of their call, or on threads if their method blocks. To its server a call is like any other: it has the
/// interceptors, limits, deadline, drain and protocols of the server. If server_options::codecs has
/// json_codec(), its messages may be JSON, which the descriptors that the program is linked with define;
/// without them such calls end with UNIMPLEMENTED, and text that is no such message ends its call with
/// INVALID_ARGUMENT.
///
/// The host must outlive the server, and the adapted services the host.
class grpcpp_host {
 public:
  grpcpp_host();
  grpcpp_host(const grpcpp_host&) = delete;
  grpcpp_host& operator=(const grpcpp_host&) = delete;
  /// Waits for the handlers and callbacks that still run after their calls have ended. For threads that drive
  /// no loop.
  ~grpcpp_host();

  /// Returns the service for server::add(); the host owns it. By one thread at a time.
  ///
  /// Throws usage_error if methods are answered by completion queues, which only a grpc::ServerBuilder has.
  /// Methods that were left to a generic service are not there: the server's fallback answers them.
  [[nodiscard]] service& adapt(grpc::Service& of);

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle
