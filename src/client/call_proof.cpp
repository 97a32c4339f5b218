// How a client's call gets its credentials, before its first attempt.
#include "client/client_call.hpp"

#include <utility>

namespace coracle::client {

void client_call::prove_caller(const method_config* m, std::shared_ptr<attempt_source> source,
                               std::string_view secure_authority) noexcept {
  const call_credentials& by = terms_.options.credentials();
  if (!by) return make_attempts(m, std::move(source));
  if (secure_authority.empty())
    return end(status::unauthenticated("call credentials do not travel in plaintext: make the channel with "
                                       "coracle::tls::client_options() in place of insecure()"),
               false);
  if (by.authorization()) {
    metadata bearer;
    if (!bearer.add("authorization", *by.authorization()))
      return end(status::unauthenticated("the token has characters that no metadata may have"), false);
    if (add_credentials(bearer)) make_attempts(m, std::move(source));
    return;
  }
  credentials_request request{std::string(secure_authority), std::string(terms_.path)};
  delayed_start next{source ? std::move(source) : channel_.source(), m ? std::optional(*m) : std::nullopt};
  credentials_waiter& self = *this;
  fetch_ = std::make_unique<credentials_fetch>(*terms_.home, by.source(), std::move(request), self,
                                               std::move(next));
}

// False when the call has ended: two answers to the question who calls are none.
bool client_call::add_credentials(const metadata& more) noexcept {
  for (const auto field : more) {
    if (!terms_.options.metadata().find(field.name)) continue;
    end(status::unauthenticated("the call has both credentials and metadata of its own under \"" +
                                std::string(field.name) + "\": leave one out"),
        false);
    return false;
  }
  for (const auto field : more) terms_.options.metadata(field.name, field.value);
  return true;
}

void client_call::credentials_came(const result<metadata>& got) noexcept {
  const delayed_start next = std::move(std::exchange(fetch_, nullptr)->next);
  if (!got) return end(got.status(), false);
  if (add_credentials(*got)) make_attempts(next.config ? &*next.config : nullptr, next.source);
}

}  // namespace coracle::client
