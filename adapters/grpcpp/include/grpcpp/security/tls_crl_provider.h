// Revocation lists, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CORACLE_GRPCPP_ABSENT("there are no revocation lists: reject certificates in a verifier")
    CertificateInfo;
class CORACLE_GRPCPP_ABSENT("there are no revocation lists: reject certificates in a verifier") Crl;
class CORACLE_GRPCPP_ABSENT("there are no revocation lists: reject certificates in a verifier") CrlProvider;
CORACLE_GRPCPP_ABSENT("there are no revocation lists: reject certificates in a verifier")
void CreateStaticCrlProvider(...);
CORACLE_GRPCPP_ABSENT("there are no revocation lists: reject certificates in a verifier")
void CreateDirectoryReloaderCrlProvider(...);

}  // namespace grpc::experimental
