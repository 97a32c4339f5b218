// What channels and servers in the API of grpc++ have of xDS without naming it.
#include "adapters/grpcpp/src/process/xds_hooks.hpp"

#include "coracle/xds/csds_service.hpp"
#include "coracle/xds/xds.hpp"

#include <utility>

// The link options of coracle::grpcpp_xds refer to it: members of a static library are linked by name alone.
extern "C" const char coracle_grpcpp_xds = 1;

namespace grpc::internal {

coracle::client::resolver_maker xds_resolver_with(const std::string& bootstrap) {
  coracle::xds_options options;
  options.bootstrap = bootstrap;
  return coracle::xds_resolver(std::move(options));
}

std::shared_ptr<coracle::service> new_csds() {
  const auto made = std::make_shared<coracle::csds_service>(coracle::csds_scope::process);
  return {made, &static_cast<coracle::service&>(*made)};
}

}  // namespace grpc::internal
