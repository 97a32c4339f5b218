// XdsServerBuilder: a server whose listeners a control plane configures (gRFC A36). Link coracle::grpcpp_xds.
#pragma once

#include <grpcpp/server_builder.h>
#include <grpcpp/support/status.h>

#include <string>

namespace grpc {

/// Hears whether the listeners of an XdsServerBuilder serve.
class XdsServerServingStatusNotifierInterface {
 public:
  struct ServingStatusUpdate {
    Status status;
  };
  virtual ~XdsServerServingStatusNotifierInterface() = default;
  /// Called when a listener begins to serve, with OK, and when it stops or does not begin to, with the reason; not
  /// any more when the server shuts down. Runs on a loop of the server, which it must not block, perhaps before
  /// BuildAndStart() returns.
  ///
  /// uri: the address, "127.0.0.1:50051"; a port may have several addresses, each with its updates.
  virtual void OnServingStatusUpdate(std::string uri, ServingStatusUpdate update) = 0;
};

/// Makes servers whose listeners are configured by the control plane that the bootstrap names, in the file of
/// GRPC_XDS_BOOTSTRAP or the text of GRPC_XDS_BOOTSTRAP_CONFIG. A port accepts connections when its Listener is
/// known, and calls whose route says so. BuildAndStart() returns null, with a line in the log, if the bootstrap is
/// missing or invalid, or has no server_listener_resource_name_template, and for UNIX sockets. With
/// XdsServerCredentials(), the control plane configures TLS, too.
class XdsServerBuilder : public ServerBuilder {
 public:
  class experimental_type : public ServerBuilder::experimental_type {
   public:
    explicit experimental_type(XdsServerBuilder* of) : ServerBuilder::experimental_type(of), of_(of) {}
    /// How long the calls of a connection may go on after its filter chains have changed. Negative: the default,
    /// 10 minutes.
    void set_drain_grace_time(int milliseconds) { of_->drain_grace_ms_ = milliseconds; }

   private:
    XdsServerBuilder* of_;
  };
  experimental_type experimental() { return experimental_type(this); }

  /// The notifier outlives the server. Without one, updates are lines in the log.
  void set_status_notifier(XdsServerServingStatusNotifierInterface* notifier) { notifier_ = notifier; }

 private:
  ChannelArguments BuildChannelArgs() override;

  XdsServerServingStatusNotifierInterface* notifier_ = nullptr;
  int drain_grace_ms_ = -1;
};

namespace experimental {

// The older names.
using grpc::XdsServerBuilder;
using grpc::XdsServerServingStatusNotifierInterface;

}  // namespace experimental
}  // namespace grpc
