#include "xds/security/plane_channels.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/security/insecure.hpp"
#include "xds/security/cluster_credentials.hpp"
#include "xds/security/token_file.hpp"

#include <memory>
#include <string_view>

namespace coracle::xds {

namespace {

// A token of each file (gRFC A97).
class token_files final : public credentials_source {
 public:
  explicit token_files(const std::vector<std::string>& paths) {
    for (const std::string& p : paths) files_.push_back(std::make_unique<token_file>(p));
  }
  task<result<metadata>> metadata_for(credentials_request call) override {
    metadata all;
    for (const auto& f : files_) {
      task<result<metadata>> reading = f->metadata_for(call);
      const result<metadata> one = co_await std::move(reading);
      if (!one) co_return one.status();
      for (const auto field : *one) all.add(field.name, field.value);
    }
    co_return all;
  }

 private:
  std::vector<std::unique_ptr<token_file>> files_;
};

channel_credentials credentials_for(const management_server& plane, const xds_options& options) {
  if (!plane.security.tls) return insecure();
  if (options.control_plane_tls) return *options.control_plane_tls;
  return credentials_of(*plane.security.tls);
}

}  // namespace

// A stream may be silent for hours, and nothing else would tell that its control plane has vanished. In
// plaintext, calls with tokens fail, and nothing is sent.
channel plane_channels::to(const management_server& plane) {
  channel_options options;
  options.keepalive.time = std::chrono::minutes(5);  // as in other implementations of gRPC
  if (!plane.security.jwt_token_files.empty())
    options.calls.credentials = tokens_of(plane.security.jwt_token_files);
  return channel(of_, plane.uri, credentials_for(plane, options_), options);
}

call_credentials plane_channels::tokens_of(const std::vector<std::string>& files) {
  call_credentials& known = tokens_[files];
  if (!known) known = std::make_shared<token_files>(files);
  return known;
}

}  // namespace coracle::xds
