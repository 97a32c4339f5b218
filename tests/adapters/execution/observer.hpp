// observer: a receiver that records how its operation completed, and senders for the tests.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/execution.hpp"

#include <exception>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace coracle::testing_support {

namespace ex = senders::provider;

struct no_value {};

// How an operation completed.
template <class T = void>
struct seen {
  std::optional<std::conditional_t<std::is_void_v<T>, no_value, T>> value;
  std::optional<status> failure;
  std::exception_ptr error;
  bool stopped = false;
  int completions = 0;
  loop* on = nullptr;

  template <class Exception>
  [[nodiscard]] bool threw() const {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const Exception&) {
      return true;
    } catch (...) {
    }
    return false;
  }
};

template <class T, class Environment = ex::env<>>
class observer {
 public:
  using receiver_concept = ex::receiver_t;
  explicit observer(seen<T>& to, Environment e = {}) : to_(&to), environment_(std::move(e)) {}
  template <class... Ts>
  void set_value(Ts&&... values) noexcept {
    completed().value.emplace(std::forward<Ts>(values)...);
  }
  void set_error(status s) noexcept { completed().failure = std::move(s); }
  void set_error(std::exception_ptr e) noexcept { completed().error = std::move(e); }
  void set_stopped() noexcept { completed().stopped = true; }
  [[nodiscard]] const Environment& get_env() const noexcept { return environment_; }

 private:
  seen<T>& completed() noexcept {
    ++to_->completions;
    to_->on = loop::current();
    return *to_;
  }
  seen<T>* to_;
  Environment environment_;
};
template <class T>
observer(seen<T>&) -> observer<T>;
template <class T, class Environment>
observer(seen<T>&, Environment) -> observer<T, Environment>;

// Connects a sender and starts it, and keeps the operation until it is destroyed.
template <class Sender, class Receiver>
class running {
 public:
  running(Sender&& s, Receiver r) : state_(ex::connect(std::forward<Sender>(s), std::move(r))) {
    ex::start(state_);
  }

 private:
  ex::connect_result_t<Sender, Receiver> state_;
};
template <class Sender, class Receiver>
running(Sender&&, Receiver) -> running<Sender, Receiver>;

inline task<> stop_in(duration d, ex::inplace_stop_source& stop) {
  co_await sleep_for(d);
  stop.request_stop();
}

// Completes with the answer that the environment of its receiver gives.
template <class Query, class T>
class answer_of {
 public:
  using sender_concept = ex::sender_t;
  using completion_signatures = ex::completion_signatures<ex::set_value_t(T)>;
  template <class Receiver>
  class state {
   public:
    using operation_state_concept = ex::operation_state_t;
    explicit state(Receiver r) : receiver_(std::move(r)) {}
    void start() & noexcept {
      T answer = Query()(ex::get_env(receiver_));
      ex::set_value(std::move(receiver_), std::move(answer));
    }

   private:
    Receiver receiver_;
  };
  template <ex::receiver Receiver>
  [[nodiscard]] auto connect(Receiver r) const {
    return state<Receiver>(std::move(r));
  }
};

// Completes on a thread of its own.
class on_a_thread {
 public:
  using sender_concept = ex::sender_t;
  using completion_signatures = ex::completion_signatures<ex::set_value_t(int)>;
  template <class Receiver>
  class state {
   public:
    using operation_state_concept = ex::operation_state_t;
    explicit state(Receiver r) : receiver_(std::move(r)) {}
    state(state&&) = delete;
    ~state() { thread_.join(); }
    void start() & noexcept {
      thread_ = std::thread([this] { ex::set_value(std::move(receiver_), 7); });
    }

   private:
    Receiver receiver_;
    std::thread thread_;
  };
  template <ex::receiver Receiver>
  [[nodiscard]] auto connect(Receiver r) const {
    return state<Receiver>(std::move(r));
  }
};

// Completes with set_stopped when it is stopped, and never before.
class until_stopped {
 public:
  using sender_concept = ex::sender_t;
  using completion_signatures = ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>;
  template <class Receiver>
  class state {
   public:
    using operation_state_concept = ex::operation_state_t;
    explicit state(Receiver r) : receiver_(std::move(r)) {}
    state(state&&) = delete;
    void start() & noexcept { callback_.emplace(ex::get_stop_token(ex::get_env(receiver_)), stop{this}); }

   private:
    struct stop {
      state* of;
      void operator()() const noexcept { ex::set_stopped(std::move(of->receiver_)); }
    };
    Receiver receiver_;
    std::optional<ex::stop_callback_for_t<ex::stop_token_of_t<ex::env_of_t<Receiver>>, stop>> callback_;
  };
  template <ex::receiver Receiver>
  [[nodiscard]] auto connect(Receiver r) const {
    return state<Receiver>(std::move(r));
  }
};

}  // namespace coracle::testing_support
