// The binder transport of Android, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental::binder {

class CORACLE_GRPCPP_ABSENT("there is no binder transport, which is for Android: use a UNIX domain socket")
    SecurityPolicy;
class CORACLE_GRPCPP_ABSENT("there is no binder transport, which is for Android: use a UNIX domain socket")
    UntrustedSecurityPolicy;
class CORACLE_GRPCPP_ABSENT("there is no binder transport, which is for Android: use a UNIX domain socket")
    InternalOnlySecurityPolicy;

}  // namespace grpc::experimental::binder
