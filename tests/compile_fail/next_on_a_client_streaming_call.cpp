// expect: has no member named 'next'
#include "kinds.coracle.hpp"

void use(misuse::rpc::Kinds::stub& stub) {
  auto call = stub.Gather();
#ifdef MISUSE
  (void)call.next();
#else
  (void)call.finish();
#endif
}
