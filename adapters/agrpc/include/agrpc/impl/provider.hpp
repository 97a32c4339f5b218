// provider: the names of std::execution that the senders of this library use: those of coracle::execution, or where there
// is no provider of senders, the few that a receiver with member functions needs.
#pragma once

#include "agrpc/impl/library.hpp"

#include <version>

#if defined(__cpp_lib_senders) || __has_include(<stdexec/execution.hpp>)
#define AGRPC_HAS_SENDERS
#include "coracle/execution/provider.hpp"
#endif
#include "coracle/execution/stop_callback.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal::provider {

#if defined(AGRPC_HAS_SENDERS)

namespace names = ::coracle::senders::provider;
using names::completion_signatures;
using names::get_completion_scheduler_t;
using names::get_env;
using names::get_stop_token;
using names::operation_state_t;
using names::scheduler_t;
using names::sender_t;
using names::set_error_t;
using names::set_stopped_t;
using names::set_value_t;

#else

struct sender_t {};
struct operation_state_t {};
struct scheduler_t {};
struct set_value_t {};
struct set_error_t {};
struct set_stopped_t {};
template <class Tag>
struct get_completion_scheduler_t {};
template <class...>
struct completion_signatures {};

struct never_stop_token {
  template <class Function>
  struct callback_type {
    callback_type(never_stop_token, const Function&) noexcept {}
  };
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
};
struct no_environment {};
template <class Receiver>
[[nodiscard]] no_environment get_env(const Receiver&) noexcept {
  return {};
}
[[nodiscard]] inline never_stop_token get_stop_token(no_environment) noexcept { return {}; }

#endif

// A receiver need not name its concept. Of one that does not, the members are called, as asio-grpc calls them.

template <class Receiver, class... Ts>
void set_value(Receiver&& receiver, Ts&&... values) noexcept {
  if constexpr (std::invocable<set_value_t, Receiver, Ts...>)
    set_value_t()(std::forward<Receiver>(receiver), std::forward<Ts>(values)...);
  else std::forward<Receiver>(receiver).set_value(std::forward<Ts>(values)...);
}
template <class Receiver, class Error>
void set_error(Receiver&& receiver, Error&& error) noexcept {
  if constexpr (std::invocable<set_error_t, Receiver, Error>)
    set_error_t()(std::forward<Receiver>(receiver), std::forward<Error>(error));
  else std::forward<Receiver>(receiver).set_error(std::forward<Error>(error));
}
template <class Receiver>
void set_stopped(Receiver&& receiver) noexcept {
  if constexpr (requires { std::forward<Receiver>(receiver).set_stopped(); }) {
    if constexpr (std::invocable<set_stopped_t, Receiver>) set_stopped_t()(std::forward<Receiver>(receiver));
    else std::forward<Receiver>(receiver).set_stopped();
  } else if constexpr (requires { std::forward<Receiver>(receiver).set_done(); }) {
    std::forward<Receiver>(receiver).set_done();
  } else {
    set_stopped_t()(std::forward<Receiver>(receiver));
  }
}

}  // namespace agrpc::inline CORACLE_ASIO::internal::provider
