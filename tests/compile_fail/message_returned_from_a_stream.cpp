// expect: a handler of many replies co_yields its messages and ends with co_return coracle::ok
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::replies<misuse::Answer> Scatter(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    co_return misuse::Answer();
#else
    co_yield misuse::Answer();
    co_return coracle::ok;
#endif
  }
};
