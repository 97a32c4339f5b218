// client_security, server_security: what turns a plain connection into a secret one. The room tls has one; the
// rooms above know these interfaces alone, so that a plaintext program links no TLS.
#pragma once

#include "coracle/base/status.hpp"

#include <memory>
#include <string_view>

namespace coracle {
class loop;
namespace net {
class duplex;  // private: src/net/duplex.hpp
}
}  // namespace coracle

namespace coracle::security {

// Shared by every loop of a server; any thread.
class server_security {
 public:
  server_security(const server_security&) = delete;
  server_security& operator=(const server_security&) = delete;
  virtual ~server_security() = default;

  // A duplex over `raw` that shakes hands by itself from its start() on: what is sent meanwhile waits, and a
  // failure arrives as the end of receiving, with a text. On `on`'s thread; never null.
  [[nodiscard]] virtual std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) = 0;
  // Reads certificates and keys anew, for the connections that come from now on. Not OK: nothing has changed.
  virtual status reload() = 0;

 protected:
  server_security() noexcept = default;
};

// Shared by every loop of a channel, or of several channels; any thread.
class client_security {
 public:
  client_security(const client_security&) = delete;
  client_security& operator=(const client_security&) = delete;
  virtual ~client_security() = default;

  // As above, to a server that has to prove that it is `host`: a name or an IP address, without a port.
  [[nodiscard]] virtual std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw,
                                                            std::string_view host) = 0;
  virtual status reload() = 0;
  // Stands for the target's name in :authority and in what the server has to prove; empty: the target's own.
  [[nodiscard]] virtual std::string_view name_override() const noexcept { return {}; }

 protected:
  client_security() noexcept = default;
};

}  // namespace coracle::security
