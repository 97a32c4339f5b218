// authorization: an interceptor that is one question: may this call go on?
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace coracle {

// server.add_interceptor(coracle::authorize([](const server_context& c) { ... return status(); }));
//
// Asked on the call's loop when its head has arrived, before any of its messages: OK lets it go on, anything else
// is the answer (UNAUTHENTICATED: who are you; PERMISSION_DENIED: not you) and no handler runs. Of what to decide by,
// the context has the method, the metadata and the peer. Calls on different loops ask at the same time. Who has to
// wait for the decision (a token service) derives from server_interceptor.
class authorization final : public server_interceptor {
 public:
  using question = std::function<status(const server_context&)>;
  explicit authorization(question ask) : ask_(std::move(ask)) {}

  task<status> intercept(server_context& context, next_handler next) override {
    status allowed = ask_(context);
    if (!allowed.ok()) co_return allowed;
    co_return co_await next();
  }

 private:
  question ask_;
};

[[nodiscard]] inline std::shared_ptr<server_interceptor> authorize(authorization::question ask) {
  return std::make_shared<authorization>(std::move(ask));
}

}  // namespace coracle
