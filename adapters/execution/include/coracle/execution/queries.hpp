// queries: what a receiver's environment tells the waits of this library beyond the standard's queries.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/execution/provider.hpp"

#include <string_view>

namespace coracle {

/// The type of get_deadline.
struct get_deadline_t {
  template <class Environment>
  [[nodiscard]] time_point operator()(const Environment& e) const noexcept {
    if constexpr (requires { e.query(*this); }) return e.query(*this);
    else return never;
  }
  /// Adaptors forward this query.
  static constexpr bool query(senders::provider::forwarding_query_t) noexcept { return true; }
};

/// Queries the environment of a receiver for the latest time at which its operation must end: `never` if it
/// does not answer. Calls that are started below it inherit that deadline, as those of a task inherit the
/// task's. The environment of a sender that a task awaits gives the deadline of that task.
inline constexpr get_deadline_t get_deadline{};

namespace senders {

// For the call that the work is done for: see coro::environment.
struct get_call_t {
  template <class Environment>
  [[nodiscard]] const void* operator()(const Environment& e) const noexcept {
    if constexpr (requires { e.query(*this); }) return e.query(*this);
    else return nullptr;
  }
  static constexpr bool query(provider::forwarding_query_t) noexcept { return true; }
};
inline constexpr get_call_t get_call{};

// Whether a query asks for the scheduler on which an operation was started (P3941): a provider may be older than this
// query, so that its name cannot stand here.
template <class Query>
consteval bool asks_for_start_scheduler() noexcept {
  return std::string_view(__PRETTY_FUNCTION__).find("get_start_scheduler_t") != std::string_view::npos;
}

}  // namespace senders
}  // namespace coracle
