// ALTS, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

CORACLE_GRPCPP_ABSENT("there is no ALTS: use TLS, and the peer of ServerContext::auth_context()")
void GetAltsContextFromAuthContext(...);
CORACLE_GRPCPP_ABSENT("there is no ALTS: use TLS, and the peer of ServerContext::auth_context()")
void AltsClientAuthzCheck(...);

}  // namespace grpc::experimental
