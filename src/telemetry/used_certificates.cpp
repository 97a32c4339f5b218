#include "telemetry/used_certificates.hpp"

#include "coracle/runtime/runtime.hpp"
#include "coracle/security/security.hpp"
#include "rpc/channel_registry.hpp"
#include "server/server_registry.hpp"
#include "server/server_state.hpp"

#include <unordered_map>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

// Credentials by their object, which several listeners or channels share.
class credentials_list {
 public:
  explicit credentials_list(loop& here) noexcept : here_(here) {}

  template <class Security>
  void add(Security& security, std::optional<std::uint64_t> server, std::string user) {
    const auto [at, is_new] = places_.try_emplace(&security, all_.size());
    if (is_new) {
      used_credentials& made = all_.emplace_back();
      made.server = server;
      made.in_use = security.certificates(here_);
    }
    used_credentials& to = all_[at->second];
    if (to.user_count++ < used_credentials::users_max) to.users.push_back(std::move(user));
  }
  // Servers that share credentials are listed apart.
  void begin_server() noexcept { places_.clear(); }
  [[nodiscard]] std::vector<used_credentials> take() noexcept { return std::move(all_); }

 private:
  loop& here_;
  std::vector<used_credentials> all_;
  std::unordered_map<const void*, std::size_t> places_;
};

}  // namespace

used_certificates::used_certificates(runtime& of)
    : servers_(server_internal::server_registry::of(of)), channels_(rpc::channel_registry::of(of)) {}

std::vector<used_credentials> used_certificates::list(loop& here) const {
  credentials_list found(here);
  for (const auto& [id, state] : servers_->all()) {
    found.begin_server();
    for (const auto& one : state->secured_listeners()) found.add(*one.security, id, one.local.to_string());
  }
  for (const auto& [id, channel] : channels_->all())
    if (const auto security = channel->security())
      found.add(*security, std::nullopt, std::string(channel->target_name()));
  return found.take();
}

std::string title_of(const security::listed_certificate& c) {
  if (!c.subject.empty() || c.names.empty()) return c.subject;
  return c.names.front().value();
}

}  // namespace coracle::telemetry_internal
