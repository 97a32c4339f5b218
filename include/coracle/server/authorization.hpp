// authorization: an interceptor that admits or rejects each call with one function.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace coracle {

/// Admits or rejects each call with one function.
///
///   server.add_interceptor(coracle::authorize([](const server_context& c) { ... return status(); }));
///
/// The server calls the function on the call's loop when the request headers have arrived, before any
/// message. OK admits the call; any other status ends it, and no handler runs (UNAUTHENTICATED: the client
/// has not proved who it is; PERMISSION_DENIED: this client may not make the call). The context provides the
/// method, the metadata and the peer to decide by. Calls on different loops run the function concurrently. If
/// the decision has to wait, for a token service for example, derive from server_interceptor instead.
class authorization final : public server_interceptor {
 public:
  /// Decides about a call; called concurrently on several loops.
  using decision = std::function<status(const server_context&)>;
  /// Asks `decide`, which is not empty, about each call.
  explicit authorization(decision decide) : decide_(std::move(decide)) {}

  task<status> intercept(server_context& context, next_handler next) override {
    status allowed = decide_(context);
    if (!allowed.ok()) co_return allowed;
    co_return co_await next();
  }

 private:
  decision decide_;
};

/// Makes an authorization interceptor for server::add_interceptor().
[[nodiscard]] inline std::shared_ptr<server_interceptor> authorize(authorization::decision decide) {
  return std::make_shared<authorization>(std::move(decide));
}

}  // namespace coracle
