// client_security, server_security: interfaces that turn a plaintext connection into a secured one. The tls
// folder implements them; the layers above depend only on these interfaces, so that a plaintext program does
// not link TLS.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/security/certificates_in_use.hpp"

#include <memory>
#include <string_view>

namespace coracle {
class loop;
namespace net {
class duplex;  // private: src/net/duplex.hpp
}
}  // namespace coracle

namespace coracle::security {

/// Secures the connections that a server accepts. All loops of a server share one object; any thread may use
/// it.
class server_security {
 public:
  server_security(const server_security&) = delete;
  server_security& operator=(const server_security&) = delete;
  virtual ~server_security() = default;

  /// Returns a duplex that runs the secure protocol over `raw`. It performs the handshake automatically from
  /// its start() on; data sent meanwhile waits. A failure is reported as the end of receiving, with a
  /// message. Null closes the connection. Must be called on the thread of `on`.
  [[nodiscard]] virtual std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) = 0;
  /// Reads certificates and keys again, for connections accepted from now on. On error the previous ones stay
  /// in use.
  virtual status reload() = 0;
  /// Returns which certificates are in use, for operators. Checks the files first, as secure() does. Must be
  /// called on the thread of `on`. An implementation without certificates returns none.
  [[nodiscard]] virtual certificates_in_use certificates(loop& /*on*/) { return {}; }
  /// Whether the security that a control plane configures for a connection replaces it:
  /// xds_server_credentials().
  [[nodiscard]] virtual bool yields_to_control_plane() const noexcept { return false; }

 protected:
  server_security() noexcept = default;
};

/// Secures the connections of a client. All loops of a channel share one object, and several channels may
/// share it; any thread may use it.
class client_security {
 public:
  client_security(const client_security&) = delete;
  client_security& operator=(const client_security&) = delete;
  virtual ~client_security() = default;

  /// Like server_security::secure(). The server must prove that it is `host`: a name or an IP address,
  /// without a port. application_protocol: the protocol that the connection will speak, by its name in ALPN
  /// (RFC 7301): "h2" or "http/1.1". The connection fails if the server does not select it; only HTTP/1.1 is
  /// also spoken to a server that selects none.
  [[nodiscard]] virtual std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw,
                                                            std::string_view host,
                                                            std::string_view application_protocol = "h2") = 0;
  /// Reads certificates and keys again, for connections made from now on. On error the previous ones stay in
  /// use.
  virtual status reload() = 0;
  /// Returns the name that replaces the target's name in :authority and in the verification of the server.
  /// Empty: the target's own name is used.
  [[nodiscard]] virtual std::string_view name_override() const noexcept { return {}; }
  /// Whether it protects every connection. If it does not, calls with call credentials fail, as they do in
  /// plaintext.
  [[nodiscard]] virtual bool always_private() const noexcept { return true; }
  /// Whether the security that a control plane configures for a server replaces it: xds_credentials().
  [[nodiscard]] virtual bool yields_to_control_plane() const noexcept { return false; }
  /// As server_security::certificates().
  [[nodiscard]] virtual certificates_in_use certificates(loop& /*on*/) { return {}; }

 protected:
  client_security() noexcept = default;
};

}  // namespace coracle::security
