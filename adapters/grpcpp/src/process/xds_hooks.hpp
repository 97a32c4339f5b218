// What coracle::grpcpp_xds defines, for programs that link it; in others, the addresses of these functions are null.
#pragma once

#include "coracle/client/resolver.hpp"
#include "coracle/server/service.hpp"

#include <memory>
#include <string>

namespace grpc::internal {

// For targets such as "xds:///name". bootstrap: JSON; if it is empty, that of the environment.
[[gnu::weak]] coracle::client::resolver_maker xds_resolver_with(const std::string& bootstrap);

// CSDS (gRFC A40), with the resources of all channels and servers of the process.
[[gnu::weak]] std::shared_ptr<coracle::service> new_csds();

}  // namespace grpc::internal
