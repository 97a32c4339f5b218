// expect: but does not override
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
#ifdef MISUSE
  coracle::reply<misuse::Answer> Gather(coracle::server_context&, const misuse::Ask&) override {
    return misuse::Answer();
  }
#else
  coracle::reply<misuse::Answer> Gather(coracle::server_context&, coracle::reader<misuse::Ask>) override {
    return misuse::Answer();
  }
#endif
};
