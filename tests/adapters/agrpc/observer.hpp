// observer: a receiver that stores what it gets.
#pragma once

#include <stdexec/execution.hpp>

#include <atomic>
#include <exception>
#include <type_traits>
#include <utility>

namespace agrpc_tests {

struct outcome {
  std::atomic<int> values = 0;
  std::atomic<int> stops = 0;
  bool last = false;  // the last value, where it is a bool
  std::exception_ptr error;
};

struct observer {
  using receiver_concept = ::stdexec::receiver_t;
  outcome* to;
  ::stdexec::inplace_stop_token stop{};
  struct environment {
    ::stdexec::inplace_stop_token stop;
    [[nodiscard]] ::stdexec::inplace_stop_token query(::stdexec::get_stop_token_t) const noexcept {
      return stop;
    }
  };
  template <class... Ts>
  void set_value(const Ts&... all) noexcept {
    if constexpr ((std::is_same_v<Ts, bool> && ...)) ((to->last = all), ...);
    ++to->values;
  }
  void set_error(std::exception_ptr error) noexcept { to->error = std::move(error); }
  void set_stopped() noexcept { ++to->stops; }
  [[nodiscard]] environment get_env() const noexcept { return {stop}; }
};

}  // namespace agrpc_tests
