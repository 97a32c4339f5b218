// http_observer: sees the header fields of a channel's requests and responses as they are in HTTP.
#pragma once

#include "coracle/client/call_protocol.hpp"
#include "coracle/http/header_list.hpp"

namespace coracle {

/// Sees the header fields of each request of a channel and of its responses, in every protocol, for
/// debugging. Users derive from it, and share it with channel_options::http_observer; the channel and its
/// calls keep it.
///
/// The fields include the pseudo-header fields of HTTP/2 (RFC 9113 8.3), also with HTTP/1.1, and credentials:
/// mind where they are printed. The functions run on the loop of the call: they must be short and must never
/// block. The fields are borrowed for the call.
class http_observer {
 public:
  virtual ~http_observer() = default;
  /// The headers of a request are sent; not its trailers.
  virtual void request_headers(const http::header_list& fields, http_version version) noexcept {
    (void)fields, (void)version;
  }
  /// The headers of a response have arrived, or those of an informational one (1xx); not its trailers.
  virtual void response_headers(const http::header_list& fields, http_version version) noexcept {
    (void)fields, (void)version;
  }
};

}  // namespace coracle
