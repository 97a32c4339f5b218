// expect: co_await of something that cannot be awaited
#include "kinds.coracle.hpp"

#include "coracle/coro/yield.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::reply<misuse::Answer> One(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_await 7;
#else
    co_await coracle::yield();
#endif
    co_return misuse::Answer();
  }
};
