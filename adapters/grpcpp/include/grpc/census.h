// census_context, which nothing here makes.
#pragma once

#include <grpcpp/impl/one_library.h>

struct census_context;
CORACLE_GRPCPP_ABSENT(
    "there is no census: use interceptors, or coracle::server_observer and coracle::client_observer")
void grpc_census_call_set_context(...);
CORACLE_GRPCPP_ABSENT(
    "there is no census: use interceptors, or coracle::server_observer and coracle::client_observer")
void grpc_census_call_get_context(...);
