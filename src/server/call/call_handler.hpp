// call_handler: what receives the events of an exchange on behalf of a call.
#pragma once

#include "transport/exchange_handler.hpp"

namespace coracle::server_internal {

class server_call;

// The call itself, or what stands before it while it is measured. The exchanges of the other protocols reach
// the call of their handler through it.
class call_handler : public transport::exchange_handler {
 public:
  [[nodiscard]] virtual server_call& call() noexcept = 0;

 protected:
  ~call_handler() = default;
};

}  // namespace coracle::server_internal
