// The binder transport of Android, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

CORACLE_GRPCPP_ABSENT("there is no binder transport, which is for Android: use a UNIX domain socket")
void BinderServerCredentials(...);

}  // namespace grpc::experimental
