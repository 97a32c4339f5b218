// expect: a handler of one reply returns a message of the type in the .proto
#include "kinds.coracle.hpp"

class kinds final : public misuse::rpc::Kinds::service {
  coracle::reply<misuse::Answer> One(coracle::server_context&, const misuse::Ask&) override {
#ifdef MISUSE
    return misuse::Ask();
#else
    return misuse::Answer();
#endif
  }
};
