// downstream_tls: the certificate of a server, and what it requires of clients (DownstreamTlsContext; gRFC
// A29).
#pragma once

#include "xds/resource/upstream_tls.hpp"

#include <google/protobuf/any.pb.h>

#include <optional>

namespace coracle::xds {

struct downstream_tls {
  provider_instance certificate;
  std::optional<provider_instance> authorities;  // of clients, which are not asked if there is nothing
  bool requires_client_certificate = false;

  friend bool operator==(const downstream_tls&, const downstream_tls&) = default;
};

// Throws invalid_resource.
[[nodiscard]] downstream_tls read_downstream_tls(const google::protobuf::Any& from,
                                                 const certificate_providers& has, const field_path& at);

}  // namespace coracle::xds
