// generic_service: answers the methods that no other service of a server has, in bytes.
#pragma once

#include "coracle/rpc/bytes_message.hpp"
#include "coracle/server/service.hpp"

namespace coracle {

// For proxies and the like: server::set_fallback(). The method is context.method(), of whatever kind: one that is
// unary for the client is a stream of one message each way here, and who answers otherwise breaks the call for its
// client. The form of the messages is context.content_subtype(); all forms are taken. Called as any service is.
class generic_service : public service {
 public:
  virtual replies<bytes_message> call(server_context& context, reader<bytes_message> requests) = 0;

  [[nodiscard]] method_table methods() const noexcept final {
    static constexpr method table[] = {bidi_method<&generic_service::call>("")};
    return table;
  }
};

}  // namespace coracle
