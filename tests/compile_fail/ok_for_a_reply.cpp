// expect: a handler of one reply cannot return coracle::ok: return the reply, or a status that is not OK
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::reply<misuse::Answer> One(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_return coracle::ok;
#else
    co_return misuse::Answer();
#endif
  }
};
