#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/credentials/credentials_core.hpp"
#include "adapters/grpcpp/src/values/sent_metadata.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/coro/yield.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/security/insecure.hpp"
#include "coracle/tls/server_options.hpp"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace grpc {

namespace internal {

using coracle::result;
using coracle::task;

coracle::channel_credentials channel_credentials_core::made(const std::string& target_name) const {
  coracle::channel_credentials own = coracle::insecure();
  if (tls) {
    coracle::tls::client_options options = *tls;
    options.target_name = target_name;
    own = options;
  }
  return with_control_plane ? with_control_plane(std::move(own)) : own;
}

namespace {

// Pairs that are the same for each call.
class fixed_credentials final : public call_credentials_core {
 public:
  fixed_credentials(std::string description, coracle::metadata pairs)
      : description_(std::move(description)), pairs_(std::move(pairs)) {}
  task<result<coracle::metadata>> metadata_for(coracle::credentials_request, const AuthContext&) override {
    co_return pairs_;
  }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  const std::string description_;
  const coracle::metadata pairs_;
};

class composite_credentials final : public call_credentials_core {
 public:
  composite_credentials(std::shared_ptr<call_credentials_core> first,
                        std::shared_ptr<call_credentials_core> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  task<result<coracle::metadata>> metadata_for(coracle::credentials_request call,
                                               const AuthContext& server) override {
    coracle::credentials_request again = call;
    auto wait = first_->metadata_for(std::move(call), server);
    result<coracle::metadata> all = co_await std::move(wait);
    if (!all) co_return all;
    auto other = second_->metadata_for(std::move(again), server);
    const result<coracle::metadata> more = co_await std::move(other);
    if (!more) co_return more;
    all->add_all(*more);
    co_return all;
  }
  [[nodiscard]] bool depends_on_server() const noexcept override {
    return first_->depends_on_server() || second_->depends_on_server();
  }
  [[nodiscard]] std::string description() const override {
    return "CompositeCallCredentials{" + first_->description() + "," + second_->description() + "}";
  }

 private:
  const std::shared_ptr<call_credentials_core> first_;
  const std::shared_ptr<call_credentials_core> second_;
};

class plugin_credentials final : public call_credentials_core {
 public:
  explicit plugin_credentials(std::unique_ptr<MetadataCredentialsPlugin> plugin)
      : plugin_(std::move(plugin)) {}
  task<result<coracle::metadata>> metadata_for(coracle::credentials_request call,
                                               const AuthContext& server) override {
    if (!plugin_->IsBlocking()) co_return ask(*plugin_, call, server);
    auto asking = coracle::offload(&plugin_credentials::ask_for, this, std::move(call), &server);
    co_return co_await asking;
  }
  [[nodiscard]] bool depends_on_server() const noexcept override { return true; }
  [[nodiscard]] std::string description() const override { return plugin_->DebugString(); }

 private:
  static result<coracle::metadata> ask_for(plugin_credentials* self, const coracle::credentials_request& call,
                                           const AuthContext* server) {
    return ask(*self->plugin_, call, *server);
  }
  static result<coracle::metadata> ask(MetadataCredentialsPlugin& plugin,
                                       const coracle::credentials_request& call, const AuthContext& server) {
    const std::string url = call.service_url();
    const std::string_view path = call.method();
    const std::string method(path.substr(path.rfind('/') + 1));
    std::multimap<std::string, std::string> pairs;
    const Status s = plugin.GetMetadata(url, method, server, &pairs);
    if (!s.ok())
      return coracle::status::unavailable("Getting metadata from plugin failed with error: " +
                                          s.error_message());
    coracle::metadata to;
    for (const auto& [key, value] : pairs) {
      if (!add_pair(to, key, value, sent_with::request))
        return coracle::status::unavailable("the plugin of the credentials made the pair '" + key +
                                            "', which is not valid metadata");
    }
    return to;
  }
  const std::unique_ptr<MetadataCredentialsPlugin> plugin_;
};

class source_of_channel final : public coracle::credentials_source {
 public:
  source_of_channel(std::shared_ptr<call_credentials_core> core, const coracle::channel& by,
                    bool wait_for_ready)
      : core_(std::move(core)), by_(by), wait_for_ready_(wait_for_ready) {}
  task<result<coracle::metadata>> metadata_for(coracle::credentials_request call) override {
    using coracle::connectivity;
    own_auth_context server;
    if (core_->depends_on_server()) {
      if (auto invalid = by_.invalid_reason(); !invalid.ok()) co_return invalid;
      std::shared_ptr<const coracle::auth_context> found;
      // A connection that has just been lost is READY until its loop has had a turn; a server in this process
      // has no identity.
      for (int looked = 0; !found && looked < 3; ++looked) {
        if (looked > 0) co_await coracle::yield();
        connectivity state = by_.state();
        for (; state != connectivity::ready; state = by_.state()) {
          if (state == connectivity::shutdown ||
              (state == connectivity::transient_failure && !wait_for_ready_))
            co_return coracle::status::unavailable(
                "no server can be reached, so that the credentials of the call were not asked for");
          if (state == connectivity::idle) by_.connect();
          auto change = by_.wait_for_state_change(state);
          co_await std::move(change);
        }
        found = by_.server_auth();
      }
      if (found) server = own_auth_context(*found);
    }
    auto asking = core_->metadata_for(std::move(call), server);
    co_return co_await std::move(asking);
  }

 private:
  const std::shared_ptr<call_credentials_core> core_;
  coracle::channel by_;
  const bool wait_for_ready_;
};

std::shared_ptr<CallCredentials> made(std::shared_ptr<call_credentials_core> core) {
  return std::make_shared<CallCredentials>(std::move(core));
}

}  // namespace

coracle::tls::client_certificates client_certificates_of(grpc_ssl_client_certificate_request_type type) {
  using coracle::tls::client_certificates;
  switch (type) {
    case GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE: break;
    // Certificates are always verified: those that were not would be no identity.
    case GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY:
    case GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY: return client_certificates::requested;
    case GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY:
    case GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY: return client_certificates::required;
  }
  return client_certificates::ignored;
}

std::shared_ptr<call_credentials_core> both(std::shared_ptr<call_credentials_core> first,
                                            std::shared_ptr<call_credentials_core> second) {
  if (!first) return second;
  if (!second) return first;
  return std::make_shared<composite_credentials>(std::move(first), std::move(second));
}

std::shared_ptr<coracle::credentials_source> source_for(std::shared_ptr<call_credentials_core> core,
                                                        const coracle::channel& by, bool wait_for_ready) {
  return std::make_shared<source_of_channel>(std::move(core), by, wait_for_ready);
}

}  // namespace internal

using internal::call_credentials_core;
using internal::channel_credentials_core;
using internal::server_credentials_core;

ChannelCredentials::ChannelCredentials(std::shared_ptr<const channel_credentials_core> core)
    : core_(std::move(core)) {}
ChannelCredentials::~ChannelCredentials() = default;

CallCredentials::CallCredentials(std::shared_ptr<call_credentials_core> core) : core_(std::move(core)) {}
CallCredentials::~CallCredentials() = default;
std::string CallCredentials::DebugString() { return "SecureCallCredentials{" + core_->description() + "}"; }

ServerCredentials::ServerCredentials(std::shared_ptr<server_credentials_core> core)
    : core_(std::move(core)) {}
ServerCredentials::~ServerCredentials() = default;

void ServerCredentials::SetAuthMetadataProcessor(const std::shared_ptr<AuthMetadataProcessor>& processor) {
  core_->processor = processor;
}

std::shared_ptr<ChannelCredentials> InsecureChannelCredentials() {
  return std::make_shared<ChannelCredentials>(std::make_shared<channel_credentials_core>());
}

std::shared_ptr<ChannelCredentials> SslCredentials(const SslCredentialsOptions& options) {
  using coracle::tls::key_pair;
  using coracle::tls::pem_source;
  auto core = std::make_shared<channel_credentials_core>();
  coracle::tls::client_options& tls = core->tls.emplace();
  tls.accept_common_name = true;
  if (!options.pem_root_certs.empty()) tls.cas = {pem_source::text(options.pem_root_certs)};
  if (!options.pem_cert_chain.empty() || !options.pem_private_key.empty())
    tls.certificate = key_pair::pem(options.pem_cert_chain, options.pem_private_key);
  return std::make_shared<ChannelCredentials>(std::move(core));
}

std::shared_ptr<ChannelCredentials> CompositeChannelCredentials(
    const std::shared_ptr<ChannelCredentials>& channel_creds,
    const std::shared_ptr<CallCredentials>& call_creds) {
  auto core = std::make_shared<channel_credentials_core>(channel_creds->core());
  core->of_calls = internal::both(core->of_calls, call_creds->core());
  return std::make_shared<ChannelCredentials>(std::move(core));
}

std::shared_ptr<CallCredentials> AccessTokenCredentials(const std::string& access_token) {
  coracle::metadata pairs;
  if (access_token.empty() || !pairs.add("authorization", "Bearer " + access_token)) return nullptr;
  return internal::made(std::make_shared<internal::fixed_credentials>("AccessTokenCredentials{Token:present}",
                                                                      std::move(pairs)));
}

std::shared_ptr<CallCredentials> GoogleIAMCredentials(const std::string& authorization_token,
                                                      const std::string& authority_selector) {
  coracle::metadata pairs;
  if (!pairs.add("x-goog-iam-authorization-token", authorization_token) ||
      !pairs.add("x-goog-iam-authority-selector", authority_selector))
    return nullptr;
  return internal::made(std::make_shared<internal::fixed_credentials>(
      "GoogleIAMCredentials{Token:present,AuthoritySelector:" + authority_selector + "}", std::move(pairs)));
}

std::shared_ptr<CallCredentials> CompositeCallCredentials(const std::shared_ptr<CallCredentials>& first,
                                                          const std::shared_ptr<CallCredentials>& second) {
  if (!first || !second) return nullptr;
  return internal::made(internal::both(first->core(), second->core()));
}

std::shared_ptr<CallCredentials> MetadataCredentialsFromPlugin(
    std::unique_ptr<MetadataCredentialsPlugin> plugin) {
  return internal::made(std::make_shared<internal::plugin_credentials>(std::move(plugin)));
}

std::shared_ptr<ServerCredentials> InsecureServerCredentials() {
  return std::make_shared<ServerCredentials>(std::make_shared<server_credentials_core>(coracle::insecure()));
}

std::shared_ptr<ServerCredentials> SslServerCredentials(const SslServerCredentialsOptions& options) {
  using coracle::tls::key_pair;
  using coracle::tls::pem_source;
  coracle::tls::server_options tls;
  for (const auto& pair : options.pem_key_cert_pairs)
    tls.certificates.push_back(key_pair::pem(pair.cert_chain, pair.private_key));
  if (!options.pem_root_certs.empty()) tls.client_cas = {pem_source::text(options.pem_root_certs)};
  auto type = options.client_certificate_request;
  if (options.force_client_auth) type = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  tls.clients = internal::client_certificates_of(type);
  return std::make_shared<ServerCredentials>(std::make_shared<server_credentials_core>(tls));
}

}  // namespace grpc
