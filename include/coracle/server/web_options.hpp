// web_options: what a server answers beside gRPC, and to which web pages.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle {

/// The other protocols of a server, and the web pages that may call it. A port answers gRPC over HTTP/2, and
/// the protocols below over HTTP/1.1 and HTTP/2. A value type: set the members that differ from the defaults.
///
///   coracle::server_options options;
///   options.web.allowed_origins = {"https://app.example"};
///
/// A request of a web page from another origin is rejected with 403 before any handler runs, whatever its
/// method, unless `allowed_origins` has the origin. Programs other than browsers send no Origin field and are
/// not affected.
class web_options {
 public:
  /// All defaults.
  web_options() noexcept {}
  /// Whether the server answers gRPC-Web (grpc/grpc doc/PROTOCOL-WEB.md), binary and text. Default: true.
  bool grpc_web = true;
  /// Whether the server answers the Connect protocol (connectrpc.com/docs/protocol) in protobuf's binary
  /// format and in the formats of server_options::codecs, such as JSON. Default: true.
  bool connect = true;
  /// Whether requests of Connect without the field connect-protocol-version (or the parameter connect=v1) are
  /// rejected with INVALID_ARGUMENT. Default: false, so that curl need not send it.
  bool require_connect_version = false;

  /// The other origins whose pages may call, such as "https://app.example" or "http://localhost:3000".
  /// Default: none; pages of the server's own origin may always call.
  std::vector<std::string> allowed_origins;
  /// Whether pages of every origin may call. Not together with `credentials`. Default: false.
  bool any_origin = false;
  /// Whether browsers may send cookies and client certificates with calls of other origins. Default: false.
  bool credentials = false;
  /// Request headers that pages may send, beyond those of the protocols: the metadata of clients is among
  /// them. Default: none.
  std::vector<std::string> allowed_headers;
  /// Response headers that pages may read, beyond the status and the metadata of the response. Default: none.
  std::vector<std::string> exposed_headers;
  /// How long a browser may reuse the server's answer to a preflight request. Default: 2 h, Chromium's
  /// maximum.
  std::chrono::seconds preflight_max_age = std::chrono::hours(2);

  /// The hosts that requests may name in Host or :authority, with or without a port, such as
  /// "movies.example". Requests to other hosts are rejected: 421, or PERMISSION_DENIED for gRPC. It protects
  /// against DNS rebinding, where a page of another site calls a server under that site's own name.
  ///
  /// Default: any host, except that a server on a plaintext loopback address answers requests of HTTP/1.1
  /// only if they name a loopback host (localhost, 127.0.0.0/8, ::1), since browsers can reach it.
  std::vector<std::string> allowed_hosts;

  /// How long browsers shall reach this host over TLS only (Strict-Transport-Security, RFC 6797). The server
  /// sends it over TLS, with every response but those of gRPC. It concerns all ports of the host, and cannot
  /// be taken back before it has passed: begin with a short time. Default: 0, it is not sent.
  std::chrono::seconds hsts{0};
};
static_assert(!std::is_aggregate_v<web_options>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
