// expect: has no member named 'write'
#include "kinds.coracle.hpp"

void use(misuse::rpc::Kinds::stub& stub, const misuse::Ask& ask) {
  auto call = stub.Scatter(ask);
#ifdef MISUSE
  (void)call.write(ask);
#else
  (void)call.next();
#endif
}
