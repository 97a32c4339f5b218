// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no keys outside of the process: use grpcpp/security/tls_certificate_provider.h"
