// What the classes of credentials hold.
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "coracle/client/call_credentials.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grpc::internal {

class channel_credentials_core {
 public:
  // Empty: plaintext.
  std::optional<coracle::tls::client_options> tls;
  // Makes credentials of a control plane of these, unless it is empty: XdsCredentials().
  std::function<coracle::channel_credentials(coracle::channel_credentials)> with_control_plane;
  std::shared_ptr<call_credentials_core> of_calls;  // may be null

  // target_name: overrides the name that is verified, unless it is empty.
  [[nodiscard]] coracle::channel_credentials made(const std::string& target_name) const;
};

// The credentials of calls: one source, or several whose pairs are added up. It is asked on the loops.
class call_credentials_core {
 public:
  virtual ~call_credentials_core() = default;
  // `server`: of the connection, if depends_on_server(). It outlives the task.
  virtual coracle::task<coracle::result<coracle::metadata>> metadata_for(coracle::credentials_request call,
                                                                         const AuthContext& server) = 0;
  // Whether the call has to wait for a connection before it is asked.
  [[nodiscard]] virtual bool depends_on_server() const noexcept { return false; }
  [[nodiscard]] virtual std::string description() const = 0;
};

// What Coracle asks, for calls of the channel `by`. As with grpc++, a plugin is asked when there is a
// connection, and a call that finds none fails without it, unless it waits until the channel is ready.
[[nodiscard]] std::shared_ptr<coracle::credentials_source> source_for(
    std::shared_ptr<call_credentials_core> core, const coracle::channel& by, bool wait_for_ready);

// Null if neither is there.
[[nodiscard]] std::shared_ptr<call_credentials_core> both(std::shared_ptr<call_credentials_core> first,
                                                          std::shared_ptr<call_credentials_core> second);

[[nodiscard]] coracle::tls::client_certificates client_certificates_of(
    grpc_ssl_client_certificate_request_type type);

class server_credentials_core {
 public:
  explicit server_credentials_core(coracle::server_credentials c) : made(std::move(c)) {}
  const coracle::server_credentials made;
  std::shared_ptr<AuthMetadataProcessor> processor;  // may be null
};

}  // namespace grpc::internal
