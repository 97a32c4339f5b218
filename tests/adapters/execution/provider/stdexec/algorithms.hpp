// The algorithms of the small provider of senders.
#pragma once

#include "core.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>

namespace stdexec {

// --- sender | adaptor

template <class Make>
struct closure {
  Make make;
  template <sender Sender>
  friend auto operator|(Sender&& s, closure c) {
    return std::move(c.make)(std::forward<Sender>(s));
  }
};
template <class Make>
closure(Make) -> closure<Make>;

// --- just, just_error, just_stopped

template <class Tag, class... Ts>
class just_sender {
 public:
  using sender_concept = sender_t;
  using completion_signatures = stdexec::completion_signatures<Tag(Ts...)>;
  explicit just_sender(Ts... values) : values_(std::move(values)...) {}

  template <class Receiver>
  class state {
   public:
    using operation_state_concept = operation_state_t;
    state(std::tuple<Ts...> values, Receiver r) : values_(std::move(values)), receiver_(std::move(r)) {}
    void start() & noexcept {
      std::apply([&](Ts&... values) { Tag()(std::move(receiver_), std::move(values)...); }, values_);
    }

   private:
    std::tuple<Ts...> values_;
    Receiver receiver_;
  };
  template <receiver Receiver>
  auto connect(Receiver r) && {
    return state<Receiver>(std::move(values_), std::move(r));
  }
  template <receiver Receiver>
  auto connect(Receiver r) const& {
    return state<Receiver>(values_, std::move(r));
  }

 private:
  std::tuple<Ts...> values_;
};
template <class... Ts>
auto just(Ts... values) {
  return just_sender<set_value_t, Ts...>(std::move(values)...);
}
template <class Error>
auto just_error(Error error) {
  return just_sender<set_error_t, Error>(std::move(error));
}
inline auto just_stopped() { return just_sender<set_stopped_t>(); }

// --- then, upon_error, upon_stopped: the completion Tag is replaced by the value of a function

template <class T>
struct value_signature {
  using type = completion_signatures<set_value_t(T)>;
};
template <>
struct value_signature<void> {
  using type = completion_signatures<set_value_t()>;
};

template <class Tag, class Function, class Receiver>
class upon_receiver {
 public:
  using receiver_concept = receiver_t;
  upon_receiver(Function f, Receiver r) : function_(std::move(f)), receiver_(std::move(r)) {}
  template <class... Ts>
  void set_value(Ts&&... values) noexcept {
    complete(set_value_t(), std::forward<Ts>(values)...);
  }
  template <class Error>
  void set_error(Error&& error) noexcept {
    complete(set_error_t(), std::forward<Error>(error));
  }
  void set_stopped() noexcept { complete(set_stopped_t()); }
  [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(receiver_); }

 private:
  template <class Completion, class... Ts>
  void complete(Completion, Ts&&... values) noexcept {
    if constexpr (!std::same_as<Completion, Tag>) {
      Completion()(std::move(receiver_), std::forward<Ts>(values)...);
    } else {
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<Function, Ts...>>) {
          std::invoke(std::move(function_), std::forward<Ts>(values)...);
          stdexec::set_value(std::move(receiver_));
        } else {
          stdexec::set_value(std::move(receiver_),
                             std::invoke(std::move(function_), std::forward<Ts>(values)...));
        }
      } catch (...) {
        stdexec::set_error(std::move(receiver_), std::current_exception());
      }
    }
  }
  Function function_;
  Receiver receiver_;
};

template <class Tag, class Sender, class Function>
class upon_sender {
  template <class... Ts>
  struct result : value_signature<std::invoke_result_t<Function, Ts...>> {};

 public:
  using sender_concept = sender_t;
  using completion_signatures = typename replaced<Tag, result, completion_signatures_of_t<Sender>,
                                                  set_error_t(std::exception_ptr)>::type;
  upon_sender(Sender s, Function f) : sender_(std::move(s)), function_(std::move(f)) {}
  template <receiver Receiver>
  auto connect(Receiver r) && {
    return stdexec::connect(std::move(sender_),
                            upon_receiver<Tag, Function, Receiver>(std::move(function_), std::move(r)));
  }
  [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(sender_); }

 private:
  Sender sender_;
  Function function_;
};
template <class Tag>
struct upon_t {
  template <sender Sender, class Function>
  auto operator()(Sender s, Function f) const {
    return upon_sender<Tag, Sender, Function>(std::move(s), std::move(f));
  }
  template <class Function>
  auto operator()(Function f) const {
    return closure{[f = std::move(f)]<class Sender>(Sender s) mutable {
      return upon_sender<Tag, Sender, Function>(std::move(s), std::move(f));
    }};
  }
};
inline constexpr upon_t<set_value_t> then{};
inline constexpr upon_t<set_error_t> upon_error{};
inline constexpr upon_t<set_stopped_t> upon_stopped{};

// --- let_value, let_error: the completion Tag is replaced by the sender that a function makes of it

template <class Receiver>
struct receiver_ref {
  using receiver_concept = receiver_t;
  Receiver* to;
  template <class... Ts>
  void set_value(Ts&&... values) noexcept {
    stdexec::set_value(std::move(*to), std::forward<Ts>(values)...);
  }
  template <class Error>
  void set_error(Error&& error) noexcept {
    stdexec::set_error(std::move(*to), std::forward<Error>(error));
  }
  void set_stopped() noexcept { stdexec::set_stopped(std::move(*to)); }
  [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(*to); }
};

// Keeps an operation state, which cannot be moved, in an optional.
template <class Sender, class Receiver>
struct connected {
  using operation_state_concept = operation_state_t;
  connected(Sender&& s, Receiver r) : state(stdexec::connect(std::forward<Sender>(s), std::move(r))) {}
  void start() noexcept { state.start(); }
  connect_result_t<Sender, Receiver> state;
};

template <class Tag, class Sender, class Function, class Receiver>
class let_state {
  template <class... Ts>
  using arguments = std::tuple<std::decay_t<Ts>...>;
  template <class... Ts>
  using inner = connected<std::invoke_result_t<Function, std::decay_t<Ts>&...>, receiver_ref<Receiver>>;

 public:
  using operation_state_concept = operation_state_t;
  let_state(Sender s, Function f, Receiver r)
      : function_(std::move(f)), receiver_(std::move(r)), outer_(std::move(s), outer_receiver{this}) {}
  let_state(let_state&&) = delete;
  void start() & noexcept { outer_.start(); }

 private:
  struct outer_receiver {
    using receiver_concept = receiver_t;
    let_state* of;
    template <class... Ts>
    void set_value(Ts&&... values) noexcept {
      of->complete(set_value_t(), std::forward<Ts>(values)...);
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      of->complete(set_error_t(), std::forward<Error>(error));
    }
    void set_stopped() noexcept { of->complete(set_stopped_t()); }
    [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(of->receiver_); }
  };
  template <class Completion, class... Ts>
  void complete(Completion, Ts&&... values) noexcept {
    if constexpr (!std::same_as<Completion, Tag>) {
      Completion()(std::move(receiver_), std::forward<Ts>(values)...);
    } else {
      try {
        auto& kept = arguments_.template emplace<arguments<Ts...>>(std::forward<Ts>(values)...);
        inner_.template emplace<inner<Ts...>>(std::apply(std::move(function_), kept),
                                              receiver_ref<Receiver>{&receiver_});
      } catch (...) {
        return stdexec::set_error(std::move(receiver_), std::current_exception());
      }
      std::get<inner<Ts...>>(inner_).start();
    }
  }
  Function function_;
  Receiver receiver_;
  typename gathered<Tag, arguments, one_of, completion_signatures_of_t<Sender>>::type arguments_;
  typename gathered<Tag, inner, one_of, completion_signatures_of_t<Sender>>::type inner_;
  connected<Sender, outer_receiver> outer_;
};

template <class Tag, class Sender, class Function>
class let_sender {
  template <class... Ts>
  struct result {
    using type = completion_signatures_of_t<std::invoke_result_t<Function, std::decay_t<Ts>&...>>;
  };

 public:
  using sender_concept = sender_t;
  using completion_signatures = typename replaced<Tag, result, completion_signatures_of_t<Sender>,
                                                  set_error_t(std::exception_ptr)>::type;
  let_sender(Sender s, Function f) : sender_(std::move(s)), function_(std::move(f)) {}
  template <receiver Receiver>
  auto connect(Receiver r) && {
    return let_state<Tag, Sender, Function, Receiver>(std::move(sender_), std::move(function_), std::move(r));
  }

 private:
  Sender sender_;
  Function function_;
};
template <class Tag>
struct let_t {
  template <sender Sender, class Function>
  auto operator()(Sender s, Function f) const {
    return let_sender<Tag, Sender, Function>(std::move(s), std::move(f));
  }
  template <class Function>
  auto operator()(Function f) const {
    return closure{[f = std::move(f)]<class Sender>(Sender s) mutable {
      return let_sender<Tag, Sender, Function>(std::move(s), std::move(f));
    }};
  }
};
inline constexpr let_t<set_value_t> let_value{};
inline constexpr let_t<set_error_t> let_error{};

// --- starts_on, continues_on

template <scheduler Scheduler, sender Sender>
auto starts_on(Scheduler on, Sender s) {
  return let_value(on.schedule(), [s = std::move(s)]() mutable { return std::move(s); });
}
// For the value completions alone.
struct continues_on_t {
  template <sender Sender, scheduler Scheduler>
  auto operator()(Sender s, Scheduler on) const {
    return let_value(std::move(s), [on]<class... Ts>(Ts&... values) {
      return let_value(on.schedule(), [kept = std::tuple<Ts...>(std::move(values)...)]() mutable {
        return std::apply([](Ts&... each) { return just(std::move(each)...); }, kept);
      });
    });
  }
  template <scheduler Scheduler>
  auto operator()(Scheduler on) const {
    return closure{[on]<class Sender>(Sender s) { return continues_on_t()(std::move(s), on); }};
  }
};
inline constexpr continues_on_t continues_on{};

// --- write_env: the operation of the sender sees the answers of another environment first

template <class Environment, class Receiver>
class written_receiver {
 public:
  using receiver_concept = receiver_t;
  written_receiver(Environment e, Receiver r) : environment_(std::move(e)), receiver_(std::move(r)) {}
  template <class... Ts>
  void set_value(Ts&&... values) noexcept {
    stdexec::set_value(std::move(receiver_), std::forward<Ts>(values)...);
  }
  template <class Error>
  void set_error(Error&& error) noexcept {
    stdexec::set_error(std::move(receiver_), std::forward<Error>(error));
  }
  void set_stopped() noexcept { stdexec::set_stopped(std::move(receiver_)); }
  [[nodiscard]] auto get_env() const noexcept {
    return env<Environment, env_of_t<Receiver>>(environment_, stdexec::get_env(receiver_));
  }

 private:
  Environment environment_;
  Receiver receiver_;
};
template <class Sender, class Environment>
class written_sender {
 public:
  using sender_concept = sender_t;
  using completion_signatures = completion_signatures_of_t<Sender>;
  written_sender(Sender s, Environment e) : sender_(std::move(s)), environment_(std::move(e)) {}
  template <receiver Receiver>
  auto connect(Receiver r) && {
    return stdexec::connect(std::move(sender_),
                            written_receiver<Environment, Receiver>(std::move(environment_), std::move(r)));
  }

 private:
  Sender sender_;
  Environment environment_;
};
template <sender Sender, class Environment>
auto write_env(Sender s, Environment e) {
  return written_sender<Sender, Environment>(std::move(s), std::move(e));
}

// --- when_all: an error or a stop of one operation stops the others

template <class Receiver, class... Senders>
class when_all_state {
  template <class... Ts>
  using values_of_one = std::optional<std::tuple<std::decay_t<Ts>...>>;
  template <class Only>
  using only = Only;
  template <class Sender>
  using values_of = value_types_of_t<Sender, env<>, values_of_one, only>;
  template <class Error>
  using decayed = std::decay_t<Error>;
  using errors = typename gathered<set_error_t, decayed, one_of,
                                   joined_t<completion_signatures<set_error_t(std::exception_ptr)>,
                                            completion_signatures_of_t<Senders>...>>::type;

  template <std::size_t Index>
  struct child {
    using receiver_concept = receiver_t;
    when_all_state* of;
    template <class... Ts>
    void set_value(Ts&&... values) noexcept {
      std::get<Index>(of->values_).emplace(std::forward<Ts>(values)...);
      of->arrive();
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      if (!of->failed_.exchange(true))
        of->error_.template emplace<std::decay_t<Error>>(std::forward<Error>(error));
      of->source_.request_stop();
      of->arrive();
    }
    void set_stopped() noexcept {
      of->failed_.exchange(true);
      of->source_.request_stop();
      of->arrive();
    }
    [[nodiscard]] auto get_env() const noexcept {
      using token = prop<get_stop_token_t, inplace_stop_token>;
      return env<token, env_of_t<Receiver>>(token(get_stop_token, of->source_.get_token()),
                                            stdexec::get_env(of->receiver_));
    }
  };
  template <class Indices>
  struct all;
  template <std::size_t... Indices>
  struct all<std::index_sequence<Indices...>> {
    std::tuple<std::optional<connected<Senders, child<Indices>>>...> states;
    all(when_all_state* of, std::tuple<Senders...>&& senders) {
      (std::get<Indices>(states).emplace(std::get<Indices>(std::move(senders)), child<Indices>{of}), ...);
    }
    void start() noexcept { (std::get<Indices>(states)->start(), ...); }
  };

 public:
  using operation_state_concept = operation_state_t;
  when_all_state(std::tuple<Senders...>&& senders, Receiver r)
      : receiver_(std::move(r)), all_(this, std::move(senders)) {}
  when_all_state(when_all_state&&) = delete;
  void start() & noexcept {
    outer_.emplace(get_stop_token(stdexec::get_env(receiver_)), stop{this});
    all_.start();
    arrive();
  }

 private:
  struct stop {
    when_all_state* of;
    void operator()() const noexcept { of->source_.request_stop(); }
  };
  void arrive() noexcept {
    if (left_.fetch_sub(1) != 1) return;
    outer_.reset();
    if (!failed_)
      return std::apply(
          [&](auto&... each) {
            std::apply(
                [&](auto&... values) { stdexec::set_value(std::move(receiver_), std::move(values)...); },
                std::tuple_cat(std::apply([](auto&... v) { return std::tie(v...); }, *each)...));
          },
          values_);
    std::visit(
        [&]<class Error>(Error& error) {
          if constexpr (std::same_as<Error, std::monostate>) stdexec::set_stopped(std::move(receiver_));
          else stdexec::set_error(std::move(receiver_), std::move(error));
        },
        error_);
  }
  Receiver receiver_;
  inplace_stop_source source_;
  std::atomic<std::size_t> left_{sizeof...(Senders) + 1};
  std::atomic<bool> failed_{false};
  errors error_;
  std::tuple<values_of<Senders>...> values_;
  std::optional<stop_callback_for_t<stop_token_of_t<env_of_t<Receiver>>, stop>> outer_;
  all<std::index_sequence_for<Senders...>> all_;
};

template <class... Senders>
class when_all_sender {
  template <class... Ts>
  using tuple = std::tuple<Ts...>;
  template <class Only>
  using only = Only;
  template <class... Ts>
  struct none {
    using type = stdexec::completion_signatures<>;
  };
  template <class Tuple>
  struct values;
  template <class... Ts>
  struct values<std::tuple<Ts...>> {
    using type = stdexec::completion_signatures<set_value_t(Ts...)>;
  };

 public:
  using sender_concept = sender_t;
  using completion_signatures =
      joined_t<typename values<decltype(std::tuple_cat(
                   std::declval<value_types_of_t<Senders, env<>, tuple, only>>()...))>::type,
               stdexec::completion_signatures<set_error_t(std::exception_ptr), set_stopped_t()>,
               typename replaced<set_value_t, none, completion_signatures_of_t<Senders>>::type...>;
  explicit when_all_sender(Senders... senders) : senders_(std::move(senders)...) {}
  template <receiver Receiver>
  auto connect(Receiver r) && {
    return when_all_state<Receiver, Senders...>(std::move(senders_), std::move(r));
  }

 private:
  std::tuple<Senders...> senders_;
};
// Algorithms are objects: then argument-dependent lookup finds no function of the same name.
struct when_all_t {
  template <sender... Senders>
  auto operator()(Senders... senders) const {
    return when_all_sender<Senders...>(std::move(senders)...);
  }
};
inline constexpr when_all_t when_all{};

// --- run_loop, and sync_wait, which drives one

class run_loop {
 public:
  class scheduler {
   public:
    using scheduler_concept = scheduler_t;
    explicit scheduler(run_loop* of) noexcept : of_(of) {}
    class schedule_sender {
     public:
      using sender_concept = sender_t;
      using completion_signatures = stdexec::completion_signatures<set_value_t()>;
      explicit schedule_sender(run_loop* of) noexcept : of_(of) {}
      template <class Receiver>
      class state {
       public:
        using operation_state_concept = operation_state_t;
        state(run_loop* of, Receiver r) : of_(of), receiver_(std::move(r)) {}
        void start() & noexcept {
          of_->post([this] { stdexec::set_value(std::move(receiver_)); });
        }

       private:
        run_loop* of_;
        Receiver receiver_;
      };
      template <receiver Receiver>
      auto connect(Receiver r) const {
        return state<Receiver>(of_, std::move(r));
      }
      [[nodiscard]] auto get_env() const noexcept {
        return prop(get_completion_scheduler<set_value_t>, scheduler(of_));
      }

     private:
      run_loop* of_;
    };
    [[nodiscard]] schedule_sender schedule() const noexcept { return schedule_sender(of_); }
    friend bool operator==(const scheduler&, const scheduler&) noexcept = default;

   private:
    run_loop* of_;
  };
  [[nodiscard]] scheduler get_scheduler() noexcept { return scheduler(this); }

  void post(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(f));
    changed_.notify_one();
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_one();
  }
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return finished_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool finished_ = false;
};

template <class Values>
struct sync_wait_receiver {
  using receiver_concept = receiver_t;
  run_loop* loop;
  std::optional<Values>* values;
  std::exception_ptr* failure;
  template <class... Ts>
  void set_value(Ts&&... each) noexcept {
    values->emplace(std::forward<Ts>(each)...);
    loop->finish();
  }
  template <class Error>
  void set_error(Error error) noexcept {
    if constexpr (std::same_as<Error, std::exception_ptr>) *failure = std::move(error);
    else *failure = std::make_exception_ptr(std::move(error));
    loop->finish();
  }
  void set_stopped() noexcept { loop->finish(); }
  [[nodiscard]] auto get_env() const noexcept { return prop(get_scheduler, loop->get_scheduler()); }
};

template <class... Ts>
using decayed_values = std::tuple<std::decay_t<Ts>...>;
template <class Only>
using only_values = Only;

// Empty if the sender was stopped.
struct sync_wait_t {
  template <sender Sender>
  auto operator()(Sender s) const {
    using values = value_types_of_t<Sender, env<>, decayed_values, only_values>;
    run_loop loop;
    std::optional<values> result;
    std::exception_ptr failure;
    auto state = connect(std::move(s), sync_wait_receiver<values>{&loop, &result, &failure});
    start(state);
    loop.run();
    if (failure) std::rethrow_exception(std::move(failure));
    return result;
  }
};
inline constexpr sync_wait_t sync_wait{};

}  // namespace stdexec
