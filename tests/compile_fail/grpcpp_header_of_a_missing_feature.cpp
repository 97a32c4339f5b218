// expect: is unavailable: coracle::grpcpp: there is no ALTS
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/alts_context.h>
#include <grpcpp/security/alts_util.h>

#ifdef MISUSE
bool of_alts(const grpc::ServerContext& context) {
  return grpc::experimental::GetAltsContextFromAuthContext(context.auth_context()) != nullptr;
}
#endif
