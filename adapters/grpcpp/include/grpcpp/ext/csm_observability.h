// OpenTelemetry, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") CsmObservability;
class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") CsmObservabilityBuilder;
CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer")
void MakeCsmOpenTelemetryPluginOption(...);

}  // namespace grpc
