// web_access: decides which requests of web pages, and to which hosts, a server answers.
#pragma once

#include "coracle/http/header_list.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/web_options.hpp"
#include "protocol/cors.hpp"
#include "server/router.hpp"
#include "transport/exchange.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// The decision about one request from an allowed origin, which its response repeats.
class cross_origin {
 public:
  cross_origin(const protocol::cors& policy, protocol::cors_decision decision)
      : policy_(policy), verdict_(decision.verdict), allow_origin_(decision.allow_origin) {}
  // Adds the fields of a response whose own fields have these names.
  void add_response_fields(std::span<const std::string_view> names, http::header_list& to) const {
    policy_.add_response_fields({verdict_, allow_origin_}, names, to);
  }

 private:
  const protocol::cors& policy_;
  protocol::cors_verdict verdict_;
  std::string allow_origin_;
};

// Belongs to the server, and does not change.
class web_access {
 public:
  // Throws usage_error if an origin, a host or a name is invalid.
  explicit web_access(const web_options& o);

  // Whether the request may name its host. `http1`: the request may be that of a browser in plaintext.
  [[nodiscard]] bool permits_host(const transport::exchange& x, std::string_view authority,
                                  bool http1) const noexcept;
  [[nodiscard]] bool restricts_hosts() const noexcept { return !hosts_.empty(); }
  // The value of Strict-Transport-Security; empty if it is not sent.
  [[nodiscard]] std::string_view strict_transport_security() const noexcept { return hsts_; }

  struct decision {
    protocol::cors_verdict verdict = protocol::cors_verdict::not_cross_origin;
    std::unique_ptr<cross_origin> fields;  // of `allowed`
    http::header_list preflight;  // the fields of `preflight`
  };
  [[nodiscard]] decision decide(const transport::exchange& x, const request_info& r,
                                const metadata& received) const;

 private:
  const protocol::cors cors_;
  const std::vector<std::string> hosts_;
  const std::string hsts_;
  const bool varies_;  // responses depend on Origin
};

}  // namespace coracle::server_internal
