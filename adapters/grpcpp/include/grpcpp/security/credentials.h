// Credentials of channels and of calls.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

namespace internal {

class channel_credentials_core;  // private: src/credentials/credentials_core.hpp
class call_credentials_core;

}  // namespace internal

/// How a channel is protected, and the credentials of its calls. Made by the functions below.
class ChannelCredentials {
 public:
  explicit ChannelCredentials(std::shared_ptr<const internal::channel_credentials_core> core);
  virtual ~ChannelCredentials();
  const internal::channel_credentials_core& core() const { return *core_; }

 private:
  std::shared_ptr<const internal::channel_credentials_core> core_;
};

/// Authenticates the caller of a call. Sent only over TLS: on another connection the call fails with
/// UNAUTHENTICATED.
class CallCredentials {
 public:
  explicit CallCredentials(std::shared_ptr<internal::call_credentials_core> core);
  virtual ~CallCredentials();
  virtual std::string DebugString();
  const std::shared_ptr<internal::call_credentials_core>& core() const { return core_; }

 private:
  std::shared_ptr<internal::call_credentials_core> core_;
};

/// PEM texts. Without roots the system's are trusted.
struct SslCredentialsOptions {
  std::string pem_root_certs;
  std::string pem_private_key;
  std::string pem_cert_chain;
};

std::shared_ptr<ChannelCredentials> InsecureChannelCredentials();
std::shared_ptr<ChannelCredentials> SslCredentials(const SslCredentialsOptions& options);
/// The calls of the channel have the credentials of the call first, and `call_creds` after them.
std::shared_ptr<ChannelCredentials> CompositeChannelCredentials(
    const std::shared_ptr<ChannelCredentials>& channel_creds,
    const std::shared_ptr<CallCredentials>& call_creds);
std::shared_ptr<ChannelCredentials> GoogleDefaultCredentials()
    CORACLE_GRPCPP_MISSING("there are no credentials of Google: CompositeChannelCredentials() with a token");
/// For channels to "xds:///name": the control plane says how the servers of a cluster are secured. Where it says
/// nothing, and for other targets, `fallback` is used. Null if `fallback` is. Link coracle::grpcpp_xds.
std::shared_ptr<ChannelCredentials> XdsCredentials(const std::shared_ptr<ChannelCredentials>& fallback);

/// Sends "authorization: Bearer TOKEN".
std::shared_ptr<CallCredentials> AccessTokenCredentials(const std::string& access_token);
/// Sends x-goog-iam-authorization-token and x-goog-iam-authority-selector.
std::shared_ptr<CallCredentials> GoogleIAMCredentials(const std::string& authorization_token,
                                                      const std::string& authority_selector);
/// Sends what both send.
std::shared_ptr<CallCredentials> CompositeCallCredentials(const std::shared_ptr<CallCredentials>& first,
                                                          const std::shared_ptr<CallCredentials>& second);

/// Makes the metadata that authenticates each call. Several threads call it at the same time.
class MetadataCredentialsPlugin {
 public:
  virtual ~MetadataCredentialsPlugin() = default;
  /// True: GetMetadata() runs on a thread that it may block. False: on the thread of the connection.
  virtual bool IsBlocking() const { return true; }
  virtual const char* GetType() const { return ""; }
  /// Adds to `metadata`. A status that is not OK ends the call with UNAVAILABLE.
  ///
  /// service_url: "https://HOST/package.Service"; method_name: the name of the method alone.
  virtual Status GetMetadata(string_ref service_url, string_ref method_name,
                             const AuthContext& channel_auth_context,
                             std::multimap<std::string, std::string>* metadata) = 0;
  virtual std::string DebugString() { return "MetadataCredentialsPlugin did not provide a debug string"; }
};

std::shared_ptr<CallCredentials> MetadataCredentialsFromPlugin(
    std::unique_ptr<MetadataCredentialsPlugin> plugin);

constexpr long kMaxAuthTokenLifetimeSecs = 3600;

std::shared_ptr<CallCredentials> GoogleComputeEngineCredentials()
    CORACLE_GRPCPP_MISSING("tokens are not fetched: MetadataCredentialsFromPlugin()");
std::shared_ptr<CallCredentials> ServiceAccountJWTAccessCredentials(const std::string& json_key,
                                                                    long lifetime_s = kMaxAuthTokenLifetimeSecs)
    CORACLE_GRPCPP_MISSING("tokens are not made: MetadataCredentialsFromPlugin()");
std::shared_ptr<CallCredentials> GoogleRefreshTokenCredentials(const std::string& json_refresh_token)
    CORACLE_GRPCPP_MISSING("tokens are not fetched: MetadataCredentialsFromPlugin()");
std::shared_ptr<CallCredentials> ExternalAccountCredentials(const std::string& json,
                                                            const std::vector<std::string>& scopes)
    CORACLE_GRPCPP_MISSING("tokens are not fetched: MetadataCredentialsFromPlugin()");

namespace experimental {

using grpc::XdsCredentials;  // the older name

std::shared_ptr<ChannelCredentials> TlsCredentials(const TlsChannelCredentialsOptions& options);

/// The level has no effect: the metadata are sent over TLS alone, which is the highest one.
inline std::shared_ptr<CallCredentials> MetadataCredentialsFromPlugin(
    std::unique_ptr<MetadataCredentialsPlugin> plugin, grpc_security_level /*least*/) {
  return grpc::MetadataCredentialsFromPlugin(std::move(plugin));
}

struct StsCredentialsOptions {
  std::string token_exchange_service_uri;
  std::string resource;
  std::string audience;
  std::string scope;
  std::string requested_token_type;
  std::string subject_token_path;
  std::string subject_token_type;
  std::string actor_token_path;
  std::string actor_token_type;
};
Status StsCredentialsOptionsFromJson(const std::string& json, StsCredentialsOptions* options)
    CORACLE_GRPCPP_MISSING("tokens are not exchanged: MetadataCredentialsFromPlugin()");
Status StsCredentialsOptionsFromEnv(StsCredentialsOptions* options)
    CORACLE_GRPCPP_MISSING("tokens are not exchanged: MetadataCredentialsFromPlugin()");
std::shared_ptr<CallCredentials> StsCredentials(const StsCredentialsOptions& options)
    CORACLE_GRPCPP_MISSING("tokens are not exchanged: MetadataCredentialsFromPlugin()");

struct AltsCredentialsOptions {
  std::vector<std::string> target_service_accounts;
};
std::shared_ptr<ChannelCredentials> AltsCredentials(const AltsCredentialsOptions& options)
    CORACLE_GRPCPP_MISSING("there is no ALTS: SslCredentials()");
std::shared_ptr<ChannelCredentials> LocalCredentials(grpc_local_connect_type type)
    CORACLE_GRPCPP_MISSING("connections are not limited to this host: InsecureChannelCredentials(), to a local address");

}  // namespace experimental

}  // namespace grpc
