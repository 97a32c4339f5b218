// A hook around callbacks, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CORACLE_GRPCPP_ABSENT("there is no hook around callbacks: use interceptors") GlobalCallbackHook;
CORACLE_GRPCPP_ABSENT("there is no hook around callbacks: use interceptors") void SetGlobalCallbackHook(...);
CORACLE_GRPCPP_ABSENT("there is no hook around callbacks: use interceptors") void GetGlobalCallbackHook(...);

}  // namespace grpc
