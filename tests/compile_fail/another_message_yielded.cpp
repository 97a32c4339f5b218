// expect: co_yield gives a message of the type in the .proto
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::replies<misuse::Answer> Scatter(coracle::server_context&, const misuse::Ask& ask) override {
#ifdef MISUSE
    co_yield ask;
#else
    (void)ask;
    co_yield misuse::Answer();
#endif
    co_return coracle::ok;
  }
};
