// session_cache: a client's TLS sessions, to be resumed by later connections.
#pragma once

#include "tls/openssl_ptr.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {

// May be used from any thread. Bounded by limits::sessions_per_host and limits::session_hosts.
class session_cache {
 public:
  // Returns the newest session for the host, or null. A TLS 1.3 session is used only once (RFC 8446 C.4).
  // generation: of the CRLs in use; sessions of other ones are dropped.
  openssl_ptr<SSL_SESSION> take(std::string_view host, std::uint64_t generation = 0);
  void keep(std::string_view host, openssl_ptr<SSL_SESSION> session, std::uint64_t generation = 0);

 private:
  struct entry {
    openssl_ptr<SSL_SESSION> session;
    std::uint64_t generation;
  };
  std::mutex mutex_;
  std::map<std::string, std::vector<entry>, std::less<>> by_host_;
};

}  // namespace coracle::tls
