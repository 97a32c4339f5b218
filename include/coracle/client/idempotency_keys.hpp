// idempotency_keys: an interceptor that gives calls a key by which a server runs them once.
#pragma once

#include "coracle/client/client_interceptor.hpp"

#include <memory>
#include <string>
#include <vector>

namespace coracle {

/// Returns an interceptor that adds the metadata `idempotency-key` with a random value to each unary call,
/// for channel_options::interceptors or channel::with_interceptors(). All attempts of a retry policy have the
/// same key. A call whose options have a key keeps it: pass one that you have stored to repeat a call after a
/// crash. Servers need idempotent_calls(), or something like it.
///
/// `methods`: the methods whose calls get a key, "/package.Service/Method", or "/package.Service/" for all
/// methods of a service. Throws usage_error for another text. Source:
/// draft-ietf-httpapi-idempotency-key-header-07.
[[nodiscard]] std::shared_ptr<client_interceptor> idempotency_keys(std::vector<std::string> methods);

}  // namespace coracle
