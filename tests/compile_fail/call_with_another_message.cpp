// expect: no known conversion for argument 1 from 'misuse::Answer' to 'const misuse::Ask&'
#include "kinds.coracle.hpp"

void use(misuse::rpc::Kinds::stub& stub) {
#ifdef MISUSE
  misuse::Answer message;
#else
  misuse::Ask message;
#endif
  (void)stub.One(message);
}
