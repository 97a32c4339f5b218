// Credentials of the C library, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_insecure_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_insecure_server_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_ssl_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_ssl_server_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_composite_channel_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_channel_credentials_release(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_server_credentials_release(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_call_credentials_release(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_google_default_credentials_create(...);
CORACLE_GRPCPP_ABSENT("there are no credentials of the C library: use grpcpp/security/credentials.h")
void grpc_xds_credentials_create(...);
