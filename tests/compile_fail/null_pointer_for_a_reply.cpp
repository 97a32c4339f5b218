// expect: a handler of one reply cannot return a null pointer
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::reply<misuse::Answer> One(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_return nullptr;
#endif
    co_return misuse::Answer();
  }
};
