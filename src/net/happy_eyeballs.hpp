// happy_eyeballs: makes one connection to the first of several addresses that answers (RFC 8305).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <list>
#include <utility>
#include <vector>

namespace coracle::net {

// RFC 8305 4, with a First Address Family Count of 1: the address families alternate, beginning with the
// family of the first address; the order within a family is kept.
std::vector<address> interleaved(std::vector<address> sorted);

// Attempts of one connect() from which on updates add no addresses: they could come faster than it ends.
inline constexpr std::size_t attempts_max = 256;

// Lives in the frame that awaits connect(), for one connect(). Its attempts are tasks in a scope that is
// joined, so none outlives the await.
class happy_eyeballs {
 public:
  // local: the address that connections are bound to, or none.
  happy_eyeballs(loop& on, const coro::environment& here, address local = {}) noexcept
      : on_(on), local_(std::move(local)), running_(here) {}
  // Returns a connected socket, which the caller owns.
  task<result<runtime_internal::handle>> connect(std::vector<address> to);
  // While connect() runs: it goes on with these addresses, in their order. Those that are new are still to be
  // tried, up to attempts_max, and attempts at others end. Returns false if connect() has its result already.
  bool change_to(const std::vector<address>& now);

 private:
  struct one_attempt {
    explicit one_attempt(address a) noexcept : to(std::move(a)) {}
    const address to;
    coro::stop_source withdrawn;
    bool ended = false;
  };
  task<> attempt(one_attempt& self, std::size_t number);
  // Waits until the latest attempt has failed or its delay is over. Returns false when no further attempt is
  // needed.
  task<bool> wait_before_next();
  // Waits for the end of an attempt, or for another address. Returns false as above.
  task<bool> wait_for_change();
  task<> latest_attempt_done() { co_await latest_ended_; }
  [[nodiscard]] bool timed_out() const noexcept;
  [[nodiscard]] bool needs_another() const noexcept;
  // The status for a connect() in which none of the `addresses` answered.
  [[nodiscard]] status all_failed(std::size_t addresses) const;

  loop& on_;
  const address local_;
  scope running_;
  event<> latest_ended_;
  event<> changed_;
  std::list<one_attempt> attempts_;  // in the order in which they began
  std::vector<address> next_;  // those that are still to be tried
  bool over_ = false;
  runtime_internal::handle winner_ = runtime_internal::no_handle;
  std::vector<status> failures_;  // in the order in which the attempts failed
};

}  // namespace coracle::net
