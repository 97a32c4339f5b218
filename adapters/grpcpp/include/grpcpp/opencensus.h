// OpenCensus, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

CORACLE_GRPCPP_ABSENT(
    "there is no OpenCensus: use interceptors, or coracle::server_observer and coracle::client_observer")
void RegisterOpenCensusPlugin(...);
CORACLE_GRPCPP_ABSENT(
    "there is no OpenCensus: use interceptors, or coracle::server_observer and coracle::client_observer")
void RegisterOpenCensusViewsForExport(...);
CORACLE_GRPCPP_ABSENT(
    "there is no OpenCensus: use interceptors, or coracle::server_observer and coracle::client_observer")
void GetSpanFromServerContext(...);

}  // namespace grpc
