// cors: decides which requests of web pages a server answers, and writes the fields that browsers require
// (the Fetch Standard, "HTTP extensions"; connectrpc.com/docs/cors).
#pragma once

#include "coracle/http/header_list.hpp"
#include "protocol/web/origin.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::protocol {

// Which other origins may call. The default allows none.
struct cors_policy {
  // Such as "https://app.example" or "http://localhost:3000"; compared by scheme, host and port.
  std::vector<std::string> allowed_origins;
  // Every origin may call, also opaque ones. Not together with `credentials`: any page could then act in the
  // name of a user who has logged in.
  bool any_origin = false;
  // Browsers may send cookies and client certificates, and pages may read the responses to such requests.
  bool credentials = false;
  // Request headers beyond those that the protocols need; metadata of clients is among them.
  std::vector<std::string> allowed_headers;
  bool any_header = false;
  // Response headers that pages may read in addition to the status and the metadata of the response.
  std::vector<std::string> exposed_headers;
  // How long a browser may reuse the response to a preflight request. Chromium allows two hours at most.
  std::chrono::seconds max_age = std::chrono::hours(2);
};

// What the decision depends on. Values are empty if the field is absent.
struct cors_request {
  std::string_view method;
  // The scheme by which clients reach the server: "http" or "https"; empty if it is unknown, as behind a
  // proxy that terminates TLS. The server's own origin is then compared by host and port alone.
  std::string_view scheme;
  std::string_view authority;  // :authority or host
  std::string_view origin;  // origin
  std::string_view fetch_site;  // sec-fetch-site
  std::string_view request_method;  // access-control-request-method
  std::string_view request_headers;  // access-control-request-headers
};

enum class cors_verdict : std::uint8_t {
  not_cross_origin,  // not from a page of another origin: continue, and add no fields but Vary
  allowed,  // from an allowed origin: continue, and add the response fields
  preflight,  // answer with 204 and the preflight fields; no handler runs
  refused,  // answer with 403; no handler runs
};

struct cors_decision {
  cors_verdict verdict = cors_verdict::not_cross_origin;
  std::string_view allow_origin;  // the value to send; "*" or borrowed from the request

  friend bool operator==(const cors_decision&, const cors_decision&) = default;
};

// A policy, prepared. Immutable: may be shared by threads.
//
// A request with an Origin that is neither the server's own nor allowed is refused before a handler runs,
// whatever its method is, because browsers send many requests without a preflight. So is a request without
// Origin that the browser marks as "Sec-Fetch-Site: cross-site", such as an image or a link in another site's
// page. Programs other than browsers send neither field and are not affected. This does not protect against
// DNS rebinding, where a page's origin equals the forged Host: a server checks Host for that.
class cors {
 public:
  // Throws usage_error if the policy is invalid: `any_origin` with `credentials`, an entry that is not an
  // origin, or a header name that is not a token.
  explicit cors(cors_policy policy);

  [[nodiscard]] cors_decision decide(const cors_request& request) const noexcept;

  // Adds the fields of a response. `names` are the names of the response's own fields in lower case, as they
  // stand on the wire (thus with "trailer-" for trailing metadata of a unary Connect call) or in the trailers
  // of gRPC-Web; the page may read these. Adds at most Vary for a request that is not cross-origin.
  void add_response_fields(const cors_decision& decision, std::span<const std::string_view> names,
                           http::header_list& to) const;

  // Adds the fields of the response to a preflight request. Whether the browser then sends the actual request
  // is its decision: the fields list what is allowed.
  void add_preflight_fields(const cors_decision& decision, const cors_request& request,
                            http::header_list& to) const;

 private:
  [[nodiscard]] bool is_own(const web::origin& from, const cors_request& request) const noexcept;
  [[nodiscard]] bool is_allowed(const web::origin& from) const noexcept;
  void add_origin_fields(const cors_decision& decision, http::header_list& to) const;

  cors_policy policy_;
  std::string allow_headers_;  // the value without those that `any_header` adds
  std::string expose_headers_;  // the value without the names of a response
  std::string max_age_;
};

}  // namespace coracle::protocol
