// OpenTelemetry, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") OpenTelemetryPluginBuilder;
class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") OpenTelemetryPlugin;
class CORACLE_GRPCPP_ABSENT(
    "there is no OpenTelemetry yet: use interceptors, or coracle::server_observer and "
    "coracle::client_observer") OpenTelemetryPluginOption;

}  // namespace grpc
