// Keys outside of the process, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CORACLE_GRPCPP_ABSENT(
    "there are no keys outside of the process: use grpcpp/security/tls_certificate_provider.h")
    PrivateKeySigner;

}  // namespace grpc::experimental
