// OpenTelemetry, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") GcpObservability;
namespace experimental {

CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer")
void GcpObservabilityInit(...);
CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer")
void GcpObservabilityClose(...);

}  // namespace experimental

}  // namespace grpc
