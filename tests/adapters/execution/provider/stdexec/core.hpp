// The concepts, queries and signatures of the small provider of senders.
#pragma once

#include "stop_token.hpp"

#include <concepts>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace stdexec {

struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
struct scheduler_t {};

// --- completions

struct set_value_t {
  template <class Receiver, class... Ts>
  void operator()(Receiver&& r, Ts&&... values) const noexcept {
    static_assert(noexcept(std::declval<Receiver>().set_value(std::forward<Ts>(values)...)));
    std::forward<Receiver>(r).set_value(std::forward<Ts>(values)...);
  }
};
struct set_error_t {
  template <class Receiver, class Error>
  void operator()(Receiver&& r, Error&& error) const noexcept {
    static_assert(noexcept(std::declval<Receiver>().set_error(std::forward<Error>(error))));
    std::forward<Receiver>(r).set_error(std::forward<Error>(error));
  }
};
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& r) const noexcept {
    static_assert(noexcept(std::declval<Receiver>().set_stopped()));
    std::forward<Receiver>(r).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

// --- environments

struct forwarding_query_t {
  template <class Query>
  constexpr bool operator()(Query q) const noexcept {
    if constexpr (requires { q.query(*this); }) return q.query(*this);
    else return false;
  }
};
inline constexpr forwarding_query_t forwarding_query{};

template <class... Environments>
class env;
template <>
class env<> {};

struct get_env_t {
  template <class T>
  auto operator()(const T& of) const noexcept {
    if constexpr (requires { of.get_env(); }) return of.get_env();
    else return env<>();
  }
};
inline constexpr get_env_t get_env{};
template <class T>
using env_of_t = decltype(get_env(std::declval<const T&>()));

template <class Query>
struct forwarded_query {
  template <class Environment>
    requires requires(const Environment& e, Query q) { e.query(q); }
  auto operator()(const Environment& e) const noexcept {
    return e.query(static_cast<const Query&>(*this));
  }
  static constexpr bool query(forwarding_query_t) noexcept { return true; }
};
struct get_scheduler_t : forwarded_query<get_scheduler_t> {};
struct get_start_scheduler_t : forwarded_query<get_start_scheduler_t> {};
struct get_allocator_t : forwarded_query<get_allocator_t> {};
struct get_stop_token_t {
  template <class Environment>
  auto operator()(const Environment& e) const noexcept {
    if constexpr (requires { e.query(*this); }) return e.query(*this);
    else return never_stop_token();
  }
  static constexpr bool query(forwarding_query_t) noexcept { return true; }
};
template <class Tag>
struct get_completion_scheduler_t : forwarded_query<get_completion_scheduler_t<Tag>> {};
inline constexpr get_scheduler_t get_scheduler{};
inline constexpr get_allocator_t get_allocator{};
inline constexpr get_stop_token_t get_stop_token{};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler{};
template <class Environment>
using stop_token_of_t = std::remove_cvref_t<decltype(get_stop_token(std::declval<const Environment&>()))>;

// An environment with one answer.
template <class Query, class Value>
class prop {
 public:
  prop(Query, Value value) : value_(std::move(value)) {}
  [[nodiscard]] const Value& query(Query) const noexcept { return value_; }

 private:
  Value value_;
};
// The first environment that answers does.
template <class First, class Second>
class env<First, Second> {
 public:
  env(First first, Second second) : first_(std::move(first)), second_(std::move(second)) {}
  template <class Query>
    requires requires(const First& e, Query q) { e.query(q); }
  [[nodiscard]] auto query(Query q) const noexcept {
    return first_.query(q);
  }
  template <class Query>
    requires(
        !requires(const First& e, Query q) { e.query(q); } &&
        requires(const Second& e, Query q) { e.query(q); })
  [[nodiscard]] auto query(Query q) const noexcept {
    return second_.query(q);
  }

 private:
  First first_;
  Second second_;
};

// --- concepts

template <class T>
concept sender = std::derived_from<typename std::remove_cvref_t<T>::sender_concept, sender_t> &&
                 std::move_constructible<std::remove_cvref_t<T>>;
template <class T>
concept receiver = std::derived_from<typename std::remove_cvref_t<T>::receiver_concept, receiver_t> &&
                   std::move_constructible<std::remove_cvref_t<T>>;
template <class T>
concept operation_state =
    std::derived_from<typename T::operation_state_concept, operation_state_t> && requires(T& t) {
      { t.start() } noexcept;
    };

struct schedule_t {
  template <class Scheduler>
  auto operator()(Scheduler&& s) const {
    return std::forward<Scheduler>(s).schedule();
  }
};
inline constexpr schedule_t schedule{};
template <class T>
concept scheduler = std::derived_from<typename std::remove_cvref_t<T>::scheduler_concept, scheduler_t> &&
                    std::equality_comparable<std::remove_cvref_t<T>> && requires(T& t) {
                      { t.schedule() } -> sender;
                    };

struct connect_t {
  template <sender Sender, receiver Receiver>
  auto operator()(Sender&& s, Receiver&& r) const {
    static_assert(operation_state<decltype(std::forward<Sender>(s).connect(std::forward<Receiver>(r)))>);
    return std::forward<Sender>(s).connect(std::forward<Receiver>(r));
  }
};
struct start_t {
  template <operation_state State>
  void operator()(State& s) const noexcept {
    s.start();
  }
};
inline constexpr connect_t connect{};
inline constexpr start_t start{};
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

// --- signatures: here a sender has the same ones in every environment

template <class... Signatures>
struct completion_signatures {};
template <class Sender, class...>
using completion_signatures_of_t = typename std::remove_cvref_t<Sender>::completion_signatures;

template <class Signature, class... Signatures>
inline constexpr bool is_one_of = (std::same_as<Signature, Signatures> || ...);

// The signatures of several lists, each once.
template <class List, class... Lists>
struct joined {
  using type = List;
};
template <class... Before, class Signature, class... After, class... Lists>
struct joined<completion_signatures<Before...>, completion_signatures<Signature, After...>, Lists...>
    : joined<std::conditional_t<is_one_of<Signature, Before...>, completion_signatures<Before...>,
                                completion_signatures<Before..., Signature>>,
             completion_signatures<After...>, Lists...> {};
template <class... Before, class... Lists>
struct joined<completion_signatures<Before...>, completion_signatures<>, Lists...>
    : joined<completion_signatures<Before...>, Lists...> {};
template <class... Lists>
using joined_t = typename joined<completion_signatures<>, Lists...>::type;

// The signatures of a list with Tag, each as Each<Arguments...>; and the others.
template <class Tag, template <class...> class Each, class Signature>
struct replaced_one {
  using type = completion_signatures<Signature>;
};
template <class Tag, template <class...> class Each, class... Ts>
struct replaced_one<Tag, Each, Tag(Ts...)> {
  using type = typename Each<Ts...>::type;
};
template <class Tag, template <class...> class Each, class List, class... More>
struct replaced;
template <class Tag, template <class...> class Each, class... Signatures, class... More>
struct replaced<Tag, Each, completion_signatures<Signatures...>, More...> {
  using type =
      joined_t<typename replaced_one<Tag, Each, Signatures>::type..., completion_signatures<More...>>;
};

// The arguments of the signatures with Tag: Variant<Tuple<Arguments...>...>.
template <class Tag, template <class...> class Tuple, class Signature>
struct arguments_of {
  using type = std::tuple<>;
};
template <class Tag, template <class...> class Tuple, class... Ts>
struct arguments_of<Tag, Tuple, Tag(Ts...)> {
  using type = std::tuple<std::type_identity<Tuple<Ts...>>>;
};
template <class Tag, template <class...> class Tuple, template <class...> class Variant, class List>
struct gathered;
template <template <class...> class Variant, class List>
struct unwrapped;
template <template <class...> class Variant, class... Ts>
struct unwrapped<Variant, std::tuple<std::type_identity<Ts>...>> {
  using type = Variant<Ts...>;
};
template <class Tag, template <class...> class Tuple, template <class...> class Variant, class... Signatures>
struct gathered<Tag, Tuple, Variant, completion_signatures<Signatures...>> {
  using type =
      typename unwrapped<Variant,
                         decltype(std::tuple_cat(
                             std::declval<typename arguments_of<Tag, Tuple, Signatures>::type>()...))>::type;
};
// A variant of nothing and each of the types once.
template <class Variant, class... Ts>
struct distinct {
  using type = Variant;
};
template <class... Before, class T, class... Ts>
struct distinct<std::variant<Before...>, T, Ts...>
    : distinct<
          std::conditional_t<is_one_of<T, Before...>, std::variant<Before...>, std::variant<Before..., T>>,
          Ts...> {};
template <class... Ts>
using one_of = typename distinct<std::variant<std::monostate>, Ts...>::type;
template <class Sender, class Environment, template <class...> class Tuple, template <class...> class Variant>
using value_types_of_t =
    typename gathered<set_value_t, Tuple, Variant, completion_signatures_of_t<Sender, Environment>>::type;

}  // namespace stdexec
