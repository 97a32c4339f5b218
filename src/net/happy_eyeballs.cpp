#include "net/happy_eyeballs.hpp"

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
  std::exception_ptr failure;
  try {
    for (address& next : to) {
      latest_ended_.reset();
      running_.spawn(attempt(std::move(next), ++started_));
      const bool another = co_await wait_before_next();
      if (!another) break;
    }
  } catch (...) {  // there is no memory: the attempts that have begun must end before they go
    failure = std::current_exception();
    running_.request_stop();
  }
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
  co_return all_failed(to.size());
}

task<> happy_eyeballs::attempt(address to, std::size_t number) {
  const result<runtime_internal::handle> connected = co_await connect_socket(on_, std::move(to), local_);
  if (!connected) {
    failures_.push_back(connected.status());
  } else if (winner_ == runtime_internal::no_handle) {
    winner_ = *connected;
    running_.request_stop();
  } else {
    on_.io().close(*connected);  // it connected before the stop arrived
  }
  if (number == started_ || winner_ != runtime_internal::no_handle) latest_ended_.set();
}

task<bool> happy_eyeballs::wait_before_next() {
  try {
    task<> news = latest_attempt_done();
    const status notified = co_await with_timeout(connection_attempt_delay, std::move(news));
    static_cast<void>(notified);  // in either case the next attempt starts
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return winner_ == runtime_internal::no_handle && !timed_out();
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
  const bool cut_short = started_ < addresses;
  const bool late = running_.environment().deadline <= on_.now();
  if (ended_as(status_code::deadline_exceeded) || (cut_short && late)) {
    return status::deadline_exceeded("the deadline passed before any of " + std::to_string(addresses) +
                                     (addresses == 1 ? " address" : " addresses") +
                                     " accepted the connection");
  }
  if (ended_as(status_code::cancelled) || cut_short) return status::cancelled("connecting was cancelled");
  if (failures_.size() == 1) return failures_.front();
  const status_code code = failures_.front().code();
  const bool agree =
      std::all_of(failures_.begin(), failures_.end(), [code](const status& s) { return s.code() == code; });
  std::string text = "none of " + std::to_string(failures_.size()) + " addresses accepted the connection";
  const char* before = ": ";
  for (const status& s : failures_) text.append(std::exchange(before, "; ")).append(s.message());
  return {agree ? code : status_code::unavailable, text};
}

}  // namespace coracle::net
