// happy_eyeballs: one connection from several addresses (RFC 8305).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <vector>

namespace coracle::net {

// RFC 8305 4, with a First Address Family Count of 1: the families take turns, beginning with that of the
// first; within a family the order stays.
std::vector<address> interleaved(std::vector<address> sorted);

// Lives in the frame of whoever awaits connect(), for one connect(). Its attempts are tasks in a scope that
// is joined: none outlives the await.
class happy_eyeballs {
 public:
  happy_eyeballs(loop& on, const coro::environment& here) noexcept : on_(on), running_(here) {}
  // A connected socket, now the caller's.
  task<result<runtime_internal::handle>> connect(std::vector<address> to);

 private:
  task<> attempt(address to, std::size_t number);
  // Until the newest attempt has failed or had its time alone. False when there is no need for another one.
  task<bool> wait_before_next();
  task<> news_of_the_newest() { co_await newest_ended_; }
  [[nodiscard]] bool out_of_time() const noexcept;
  // Of no connection to so many addresses.
  [[nodiscard]] status why(std::size_t addresses) const;

  loop& on_;
  scope running_;
  event<> newest_ended_;
  std::size_t started_ = 0;
  runtime_internal::handle winner_ = runtime_internal::no_handle;
  std::vector<status> failures_;  // in the order in which the attempts failed
};

}  // namespace coracle::net
