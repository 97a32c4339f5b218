// server_labels: where a server belongs, for the labels of metrics.
#pragma once

#include <string>

namespace coracle {

/// What a control plane says where a server belongs, for the labels of metrics (gRFC A78, A89). Empty for
/// what is not known. A value type.
struct server_labels {
  std::string backend_service;  ///< the xDS cluster: grpc.lb.backend_service
  std::string locality;  ///< `{region="r", zone="z", sub_zone="s"}`: grpc.lb.locality

  friend bool operator==(const server_labels&, const server_labels&) = default;
};

}  // namespace coracle
