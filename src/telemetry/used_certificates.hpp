// used_certificates: the certificates that the servers and the channels of a runtime use.
#pragma once

#include "coracle/security/certificates_in_use.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle {
class loop;
class runtime;
namespace rpc {
class channel_registry;
}
namespace server_internal {
class server_registry;
}
}  // namespace coracle

namespace coracle::telemetry_internal {

// Credentials of TLS with those who share them.
struct used_credentials {
  static constexpr std::size_t users_max = 20;

  std::optional<std::uint64_t> server;  // its id; none: the credentials are those of channels
  // The addresses of the server's listeners, or the targets of the channels: the first ones.
  std::vector<std::string> users;
  std::size_t user_count = 0;
  security::certificates_in_use in_use;
};

// Finds them also after the runtime has ended.
class used_certificates {
 public:
  explicit used_certificates(runtime& of);
  // Those of servers, in order of their ids, then those of channels. Checks the files; called on the thread
  // of `here`, a loop of any runtime.
  [[nodiscard]] std::vector<used_credentials> list(loop& here) const;

 private:
  std::shared_ptr<const server_internal::server_registry> servers_;
  std::shared_ptr<const rpc::channel_registry> channels_;
};

// Returns what names a certificate for people: its subject; without one, its first name.
[[nodiscard]] std::string title_of(const security::listed_certificate& c);

}  // namespace coracle::telemetry_internal
