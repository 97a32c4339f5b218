#include "net/happy_eyeballs.hpp"

#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/connect.hpp"
#include "net/connect.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace coracle::net {

std::vector<address> interleaved(std::vector<address> sorted) {
  std::vector<address> first;
  std::vector<address> other;
  for (address& a : sorted) {
    const bool of_first_family = first.empty() || a.kind() == first.front().kind();
    (of_first_family ? first : other).push_back(std::move(a));
  }
  std::vector<address> turns;
  turns.reserve(sorted.size());
  for (std::size_t n = 0; n < std::max(first.size(), other.size()); ++n) {
    if (n < first.size()) turns.push_back(std::move(first[n]));
    if (n < other.size()) turns.push_back(std::move(other[n]));
  }
  return turns;
}

task<result<runtime_internal::handle>> happy_eyeballs::connect(std::vector<address> to) {
  next_ = std::move(to);
  std::exception_ptr failure;
  try {
    for (bool another = true; another;) {
      if (next_.empty()) {
        another = co_await wait_for_change();
        continue;
      }
      latest_ended_.reset();
      one_attempt& latest = attempts_.emplace_back(std::move(next_.front()));
      next_.erase(next_.begin());
      running_.spawn(attempt(latest, attempts_.size()));
      another = co_await wait_before_next();
    }
  } catch (...) {  // there is no memory: the attempts that have begun must end before they go
    failure = std::current_exception();
    running_.request_stop();
  }
  over_ = true;
  try {
    co_await running_.join();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    if (winner_ != runtime_internal::no_handle) on_.io().close(winner_);
    std::rethrow_exception(failure);
  }
  if (winner_ != runtime_internal::no_handle) co_return winner_;
  co_return all_failed(attempts_.size() + next_.size());
}

bool happy_eyeballs::change_to(const std::vector<address>& now) {
  if (over_ || winner_ != runtime_internal::no_handle) return false;
  const auto is_listed = [](const auto& list, const address& a) {
    return std::find(list.begin(), list.end(), a) != list.end();
  };
  std::vector<address> tried;
  // One that has failed is not tried again, even if it went and comes back.
  for (const one_attempt& one : attempts_)
    if (!one.withdrawn.stop_requested()) tried.push_back(one.to);
  std::vector<address> next;
  for (const address& a : now) {
    if (attempts_.size() + next.size() >= attempts_max) break;
    if (!is_listed(tried, a)) next.push_back(a);
  }
  next_ = std::move(next);
  for (one_attempt& one : attempts_)
    if (!one.ended && !is_listed(now, one.to)) one.withdrawn.request_stop();
  changed_.set();
  return true;
}

task<> happy_eyeballs::attempt(one_attempt& self, std::size_t number) {
  using connected_socket = result<runtime_internal::handle>;
  const event<>::guard at_end(changed_);  // also without memory for it
  stop_on<connected_socket> connecting(self.withdrawn.token(), connect_socket(on_, self.to, local_));
  const connected_socket connected = co_await connecting;
  self.ended = true;
  const bool counts = !self.withdrawn.stop_requested();
  if (!connected) {
    if (counts) failures_.push_back(connected.status());
  } else if (counts && winner_ == runtime_internal::no_handle) {
    winner_ = *connected;
    running_.request_stop();
  } else {
    on_.io().close(*connected);  // it connected before the stop arrived
  }
  if (number == attempts_.size() || winner_ != runtime_internal::no_handle) latest_ended_.set();
}

task<bool> happy_eyeballs::wait_before_next() {
  try {
    task<> news = latest_attempt_done();
    const status notified = co_await with_timeout(connection_attempt_delay, std::move(news));
    static_cast<void>(notified);  // in either case the next attempt starts
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return needs_another();
}

task<bool> happy_eyeballs::wait_for_change() {
  if (std::all_of(attempts_.begin(), attempts_.end(), [](const one_attempt& one) { return one.ended; }))
    co_return false;
  changed_.reset();
  try {
    co_await changed_;
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return needs_another();
}

bool happy_eyeballs::needs_another() const noexcept {
  return winner_ == runtime_internal::no_handle && !timed_out();
}

bool happy_eyeballs::timed_out() const noexcept {
  return running_.environment().stop.stop_requested() || running_.environment().deadline <= on_.now();
}

status happy_eyeballs::all_failed(std::size_t addresses) const {
  // An attempt that a stop or the deadline ended determines the status; so does an end before all attempts
  // began.
  const auto ended_as = [this](status_code code) {
    return std::any_of(failures_.begin(), failures_.end(),
                       [code](const status& s) { return s.code() == code; });
  };
  if (addresses == 1 && failures_.size() == 1) return failures_.front();  // which names the address
  const bool cut_short = !next_.empty();
  const bool late = running_.environment().deadline <= on_.now();
  if (ended_as(status_code::deadline_exceeded) || (cut_short && late)) {
    return status::deadline_exceeded("the deadline passed before any of " + std::to_string(addresses) +
                                     " addresses accepted the connection");
  }
  if (ended_as(status_code::cancelled) || cut_short) return status::cancelled("connecting was cancelled");
  if (failures_.empty()) return status::unavailable("the server has none of its addresses any more");
  if (failures_.size() == 1) return failures_.front();
  const status_code code = failures_.front().code();
  const bool agree =
      std::all_of(failures_.begin(), failures_.end(), [code](const status& s) { return s.code() == code; });
  constexpr std::size_t failures_listed_max = 3;
  std::string text = "none of " + std::to_string(failures_.size()) + " addresses accepted the connection";
  const char* before = ": ";
  for (std::size_t i = 0; i < failures_.size() && i < failures_listed_max; ++i)
    text.append(std::exchange(before, "; ")).append(failures_[i].message());
  return {agree ? code : status_code::unavailable, text};
}

}  // namespace coracle::net
