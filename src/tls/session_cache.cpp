#include "tls/session_cache.hpp"

#include "coracle/tls/limits.hpp"

#include <utility>

namespace coracle::tls {

openssl_ptr<SSL_SESSION> session_cache::take(std::string_view host, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  const auto found = by_host_.find(host);
  if (found == by_host_.end()) return {};
  std::erase_if(found->second, [generation](const entry& e) { return e.generation != generation; });
  if (found->second.empty()) return {};
  openssl_ptr<SSL_SESSION>& newest = found->second.back().session;
  if (SSL_SESSION_get_protocol_version(newest.get()) < TLS1_3_VERSION) {
    SSL_SESSION_up_ref(newest.get());
    return openssl_ptr<SSL_SESSION>(newest.get());
  }
  openssl_ptr<SSL_SESSION> taken = std::move(newest);
  found->second.pop_back();
  return taken;
}

void session_cache::keep(std::string_view host, openssl_ptr<SSL_SESSION> session, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  auto found = by_host_.find(host);
  if (found == by_host_.end()) {
    if (by_host_.size() >= limits::session_hosts) by_host_.erase(by_host_.begin());
    found = by_host_.try_emplace(std::string(host)).first;
  }
  std::vector<entry>& kept = found->second;
  if (kept.size() >= limits::sessions_per_host) kept.erase(kept.begin());
  kept.push_back({std::move(session), generation});
}

}  // namespace coracle::tls
