// expect: a result of a bool or of an optional is not a condition: write .ok() to test for an error, or
// .value()
#include "kinds.coracle.hpp"

coracle::task<> use(misuse::rpc::Kinds::stub kinds) {
  auto call = kinds.Scatter(misuse::Ask());
#ifdef MISUSE
  while (const auto reply = co_await call.next()) (void)reply;
#else
  while (const auto reply = (co_await call.next()).value()) (void)reply;
#endif
}
