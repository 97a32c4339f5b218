// expect: a result of a bool or of an optional is not a condition: write .ok() to test for an error, or
// .value()
#include "kinds.coracle.hpp"

coracle::task<> use(misuse::rpc::Kinds::stub kinds) {
  auto call = kinds.Scatter(misuse::Ask());
  misuse::Answer reply;
#ifdef MISUSE
  while (co_await call.read(reply)) {
  }
#else
  while ((co_await call.read(reply)).value()) {
  }
#endif
}
