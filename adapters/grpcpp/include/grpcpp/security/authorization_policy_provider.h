// Authorization policies, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class AuthorizationPolicyProviderInterface;
class CORACLE_GRPCPP_ABSENT(
    "there are no authorization policies yet: use a server interceptor, or coracle::authorization")
    StaticDataAuthorizationPolicyProvider;
class CORACLE_GRPCPP_ABSENT(
    "there are no authorization policies yet: use a server interceptor, or coracle::authorization")
    FileWatcherAuthorizationPolicyProvider;

}  // namespace grpc::experimental
