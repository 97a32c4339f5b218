// generic_service: handles unregistered methods, with messages as bytes.
#pragma once

#include "coracle/rpc/bytes_message.hpp"
#include "coracle/server/service.hpp"

namespace coracle {

/// Handles the methods that no other service of a server has; for proxies, for example. See
/// server::set_fallback().
///
/// context.method() is the method, of whatever kind. A method that is unary for the client is a stream of one
/// message each way here; a handler that sends another number of messages breaks the call for its client.
/// context.content_subtype() is the encoding of the messages; every encoding is accepted. The thread rules
/// are those of every service.
class generic_service : public service {
 public:
  /// Handles one call: reads `requests` and yields the replies.
  virtual replies<bytes_message> call(server_context& context, reader<bytes_message> requests) = 0;

  [[nodiscard]] method_table methods() const noexcept final {
    static constexpr method table[] = {bidi_method<&generic_service::call>("")};
    return table;
  }
};

}  // namespace coracle
