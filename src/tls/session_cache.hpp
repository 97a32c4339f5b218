// session_cache: sessions that servers gave a client, to be taken up by its next connections.
#pragma once

#include "tls/owned.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {

// Any thread. Bounded: limits::sessions_per_host, limits::session_hosts.
class session_cache {
 public:
  // The newest for the host, or null. One of TLS 1.3 is used once (RFC 8446 C.4).
  owned<SSL_SESSION> take(std::string_view host);
  void keep(std::string_view host, owned<SSL_SESSION> session);

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<owned<SSL_SESSION>>, std::less<>> by_host_;
};

}  // namespace coracle::tls
