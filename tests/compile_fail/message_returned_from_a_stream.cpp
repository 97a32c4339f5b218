// expect: to 'coracle::status'
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::replies<misuse::Answer> Scatter(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_return misuse::Answer();
#else
    co_yield misuse::Answer();
    co_return coracle::status();
#endif
  }
};
