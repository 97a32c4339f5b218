// expect: co_yield in a handler of one reply
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::reply<misuse::Answer> One(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_yield misuse::Answer();
#endif
    co_return misuse::Answer();
  }
};
