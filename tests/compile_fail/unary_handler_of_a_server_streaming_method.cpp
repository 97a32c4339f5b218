// expect: invalid covariant return type for
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
#ifdef MISUSE
  coracle::reply<misuse::Answer> Scatter(coracle::server_context&, const misuse::Ask&) override {
    co_return misuse::Answer();
  }
#else
  coracle::replies<misuse::Answer> Scatter(coracle::server_context&, const misuse::Ask&) override {
    co_yield misuse::Answer();
    co_return coracle::ok;
  }
#endif
};
