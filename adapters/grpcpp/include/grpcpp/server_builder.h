// ServerBuilder: the options of a server.
#pragma once

#include <grpc/compression.h>
#include <grpc/support/workaround_list.h>
#include <grpcpp/impl/channel_argument_option.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The name of an argument of servers. Not 0: the server also answers gRPC-Web and the Connect protocol, with
/// messages as JSON, too, which the descriptors that the program is linked with define. It then accepts
/// HTTP/1.1 as well. Default: 0.
///
///   builder.AddChannelArgument(CORACLE_ARG_WEB, 1);
#define CORACLE_ARG_WEB "coracle.web"
/// The name of an argument of servers that answer the web: the other origins whose pages may call,
/// "https://app.example, http://localhost:3000", or "*" for all. Default: none; pages of the server's own
/// origin may always call.
#define CORACLE_ARG_WEB_ORIGINS "coracle.web_origins"

namespace coracle {
class server;
class service;
}  // namespace coracle

namespace grpc {

class AsyncGenericService;
class CallbackGenericService;

namespace internal {

class port_listener;  // private: src/server/port_listener.hpp

}  // namespace internal

namespace testing {

class ServerBuilderPluginTest;

}  // namespace testing

namespace experimental {

class AuthorizationPolicyProviderInterface;
class ServerMetricRecorder;

/// Has a server of grpc++ serve connections of the program; see AddExternalConnectionAcceptor().
class ExternalConnectionAcceptor {
 public:
  struct NewConnectionParameters {
    int listener_fd = -1;
    int fd = -1;
    ByteBuffer read_buffer;
  };
  virtual ~ExternalConnectionAcceptor() = default;
  virtual void HandleNewConnection(NewConnectionParameters* connection) = 0;
};

}  // namespace experimental

/// Collects the services, ports and options of a server, and starts it.
class ServerBuilder {
 public:
  ServerBuilder();
  virtual ~ServerBuilder();

  /// Starts the server. Returns null if a port cannot be listened on, or if the calls of a service are
  /// requested from another server that is not shut down; the reason is in the log. May be called again, for
  /// another server.
  virtual std::unique_ptr<Server> BuildAndStart();

  /// Takes no ownership.
  ServerBuilder& RegisterService(Service* service);
  /// Adds a service of Coracle, which answers on the same ports: one that was moved from this API, or
  /// coracle::health_service. Its handlers run on the loops of the server, which it outlives.
  ServerBuilder& RegisterService(coracle::service& service) {
    return coracle_services_.push_back(&service), *this;
  }
  /// Has `configure` see the server of Coracle that BuildAndStart() makes, before it listens: for what the
  /// library has beyond grpc++, such as coracle::with_metrics(), with_otlp() and with_pages(). Functions run in
  /// their order, on the thread of BuildAndStart(), which returns null if one of them throws.
  ServerBuilder& ConfigureServer(std::function<void(coracle::server&)> configure) {
    return configure_.push_back(std::move(configure)), *this;
  }
  ServerBuilder& RegisterService(const std::string& host, Service* service)
      CORACLE_GRPCPP_MISSING("a service answers for all hosts: RegisterService(service)");
  /// selected_port: set to the port by BuildAndStart(), or to 0; may be null.
  ServerBuilder& AddListeningPort(const std::string& address, std::shared_ptr<ServerCredentials> credentials,
                                  int* selected_port = nullptr);
  /// Makes a queue for the calls of asynchronous methods. It outlives the server's Shutdown().
  /// is_frequently_polled has no effect: a queue need not be polled for the server to make progress.
  std::unique_ptr<ServerCompletionQueue> AddCompletionQueue(bool is_frequently_polled = true);
  /// Set the service that answers the methods that no other one has: one of both kinds, once. Another one is
  /// ignored, with a line in the log. Take no ownership.
  ServerBuilder& RegisterAsyncGenericService(AsyncGenericService* service);
  ServerBuilder& RegisterCallbackGenericService(CallbackGenericService* service);

  /// In bytes; -1: no limit. Default: 4 MiB for requests, no limit for replies.
  ServerBuilder& SetMaxReceiveMessageSize(int bytes) {
    return arguments_.replace(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, bytes), *this;
  }
  ServerBuilder& SetMaxSendMessageSize(int bytes) {
    return arguments_.replace(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, bytes), *this;
  }
  ServerBuilder& SetMaxMessageSize(int bytes) { return SetMaxReceiveMessageSize(bytes); }
  /// Whether requests in an encoding are accepted. Default: all are.
  ServerBuilder& SetCompressionAlgorithmSupportStatus(grpc_compression_algorithm algorithm, bool enabled);
  /// How replies are compressed, unless a handler says otherwise. Default: not.
  ServerBuilder& SetDefaultCompressionAlgorithm(grpc_compression_algorithm algorithm) {
    return arguments_.replace(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, static_cast<int>(algorithm)), *this;
  }
  ServerBuilder& SetDefaultCompressionLevel(grpc_compression_level level) {
    return arguments_.replace(GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL, static_cast<int>(level)), *this;
  }
  ServerBuilder& SetResourceQuota(const ResourceQuota& quota) { return quota_ = quota, *this; }
  ServerBuilder& SetContextAllocator(std::unique_ptr<ContextAllocator> allocator) CORACLE_GRPCPP_MISSING(
      "the library has the contexts: SetMessageAllocatorFor_...() of a service, for messages");
  ServerBuilder& EnableWorkaround(grpc_workaround_list workaround)
      CORACLE_GRPCPP_MISSING("there are no workarounds, and none is needed: remove the call");

  class experimental_type {
   public:
    explicit experimental_type(ServerBuilder* of) : of_(of) {}
    /// The interceptors that the factories make run in this order around the calls of the server, in all three
    /// APIs and in generic services. Services of Coracle have interceptors of their own.
    void SetInterceptorCreators(
        std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators) {
      of_->interceptors_ = std::make_shared<const factories>(std::move(creators));
    }
    enum class ExternalConnectionType { FROM_FD };
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> AddExternalConnectionAcceptor(
        ExternalConnectionType type, std::shared_ptr<ServerCredentials> credentials)
        CORACLE_GRPCPP_MISSING(
            "there are no acceptors: AddInsecureChannelFromFd(), coracle::server::adopt()");
    void SetAuthorizationPolicyProvider(
        std::shared_ptr<grpc::experimental::AuthorizationPolicyProviderInterface> provider)
        CORACLE_GRPCPP_MISSING("there are no policies yet: a server interceptor, or coracle::authorization");
    /// Calls send what their handlers record (ServerContext::ExperimentalGetCallMetricRecorder()), and the values
    /// of `recorder`, which outlives the server, if it is not null.
    void EnableCallMetricRecording(grpc::experimental::ServerMetricRecorder* recorder = nullptr) {
      of_->records_load_ = true;
      of_->load_ = recorder;
    }

   private:
    ServerBuilder* of_;
  };
  experimental_type experimental() { return experimental_type(this); }

  /// NUM_CQS: the number of loops that serve connections. MAX_POLLERS, MIN_POLLERS and CQ_TIMEOUT_MSEC have
  /// no effect: a thread waits for each call whose handler runs, up to the quota's.
  enum SyncServerOption { NUM_CQS, MIN_POLLERS, MAX_POLLERS, CQ_TIMEOUT_MSEC };
  ServerBuilder& SetSyncServerOption(SyncServerOption option, int value);

  /// Takes the option; BuildAndStart() applies the options in their order.
  ServerBuilder& SetOption(std::unique_ptr<ServerBuilderOption> option) {
    return options_.push_back(std::move(option)), *this;
  }
  /// All builders that are made from now on have a plugin that `create` makes.
  static void InternalAddPluginFactory(std::unique_ptr<ServerBuilderPlugin> (*create)());

  /// An argument by its name, int or std::string. Those that have no meaning here are accepted, and named in a
  /// log line once. The functions above replace arguments of the same meaning.
  template <class T>
  ServerBuilder& AddChannelArgument(const std::string& name, const T& value) {
    return SetOption(MakeChannelArgumentOption(name, value));
  }

 protected:
  /// Returns the arguments of the server, to which the options and plugins have added theirs. BuildAndStart()
  /// calls it first.
  virtual ChannelArguments BuildChannelArgs();

  // Has another object listen at the ports, which `make` makes for each server. For the library.
  void set_listener(std::function<std::shared_ptr<internal::port_listener>(coracle::server&)> make) {
    make_listener_ = std::move(make);
  }

 private:
  using factories = std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;
  struct port {
    std::string address;
    std::shared_ptr<ServerCredentials> credentials;
    int* selected;
  };
  friend class internal::server_core;
  friend class testing::ServerBuilderPluginTest;
  std::vector<Service*> services_;
  AsyncGenericService* async_generic_ = nullptr;  // or
  CallbackGenericService* callback_generic_ = nullptr;
  std::vector<coracle::service*> coracle_services_;
  std::vector<std::function<void(coracle::server&)>> configure_;
  std::vector<std::shared_ptr<internal::queue_core>> queues_;
  std::vector<port> ports_;
  std::vector<std::unique_ptr<ServerBuilderOption>> options_;
  std::vector<std::unique_ptr<ServerBuilderPlugin>> plugins_;
  std::shared_ptr<const factories> interceptors_ = std::make_shared<const factories>();
  ChannelArguments arguments_;  // which replace those of the options
  ResourceQuota quota_;
  int loops_ = 0;  // 0: one for each core
  std::uint32_t refused_algorithms_ = 0;
  bool records_load_ = false;
  grpc::experimental::ServerMetricRecorder* load_ = nullptr;
  std::function<std::shared_ptr<internal::port_listener>(coracle::server&)> make_listener_;  // may be empty
};

}  // namespace grpc
