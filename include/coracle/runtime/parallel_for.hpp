// parallel_for and parallel_reduce: computations over a range on several threads, off the loops.
#pragma once

#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/impl/parallel_chunks.hpp"
#include "coracle/runtime/offload.hpp"

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// @cond
namespace coro {

template <class Body>
void take_chunks(parallel_chunks* chunks, Body* body) noexcept {
  while (const std::optional<parallel_chunks::chunk> c = chunks->next()) {
    try {
      (*body)(*c);
    } catch (...) {
      chunks->failed(*c, std::current_exception());
    }
  }
}
template <class Body>
task<> help(parallel_chunks& chunks, Body& body) {
  try {
    co_await offload(&take_chunks<Body>, &chunks, &body);
  } catch (const cancelled&) {  // it did not begin; `chunks` reports that
  }
}
// Calls body(chunk) for each chunk, on the threads of offload().
template <class Body>
task<> run_chunks(parallel_chunks& chunks, Body& body) {
  const environment& here = co_await this_environment();
  chunks.request_stop_on(here.stop);
  scope helpers(here);
  for (std::size_t i = chunks.threads(); i > 0; --i) helpers.spawn(help(chunks, body));
  co_await helpers.join();
  chunks.throw_if_failed();
}

template <class View, class Fn>
task<> for_each(View over, Fn fn) {
  parallel_chunks chunks(std::ranges::size(over));
  const auto first = std::ranges::begin(over);
  auto body = [&](const parallel_chunks::chunk& c) {
    const auto end = first + static_cast<std::ptrdiff_t>(c.end);
    for (auto at = first + static_cast<std::ptrdiff_t>(c.begin); at != end; ++at) std::invoke(fn, *at);
  };
  co_await run_chunks(chunks, body);
}

template <class View, class T, class Map, class Combine>
task<T> reduce(View over, T init, Map map, Combine combine) {
  parallel_chunks chunks(std::ranges::size(over));
  std::vector<std::optional<T>> parts(chunks.size());
  const auto first = std::ranges::begin(over);
  auto body = [&](const parallel_chunks::chunk& c) {
    const auto end = first + static_cast<std::ptrdiff_t>(c.end);
    auto at = first + static_cast<std::ptrdiff_t>(c.begin);
    T sum = std::invoke(map, *at);
    while (++at != end) sum = std::invoke(combine, std::move(sum), T(std::invoke(map, *at)));
    parts[c.index].emplace(std::move(sum));
  };
  co_await run_chunks(chunks, body);
  for (std::optional<T>& part : parts) init = std::invoke(combine, std::move(init), std::move(*part));
  co_return init;
}

template <class Fn>
concept safe_in_co_await = std::is_lvalue_reference_v<Fn> || std::is_trivially_destructible_v<Fn>;

}  // namespace coro
/// @endcond

/// co_await parallel_for(range, fn) calls fn(element) for each element of a random-access range, and
/// parallel_for(n, fn) calls fn(i) for 0 <= i < n. The calls run on several threads at a time: as many as the
/// process has cores, but not more than runtime_options::blocking_threads. The threads are those of
/// offload(), so the loops stay free for I/O. Resumes on the loop that awaited it, when every call has ended.
///
/// The range is divided into at most 256 chunks, depending only on its size. After an exception of fn no
/// further chunk begins, and the exception is rethrown: the one that a sequential loop would have met first.
/// A stop of the awaiter's environment takes effect between chunks and throws coro::cancelled. In a
/// simulation all calls run on the loop, at a later virtual time. A range passed as an lvalue must outlive
/// the await; fn is moved in.
template <std::ranges::random_access_range Range, class Fn>
  requires std::ranges::sized_range<Range> &&
           std::invocable<std::decay_t<Fn>&, std::ranges::range_reference_t<Range>>
[[nodiscard]] task<> parallel_for(Range&& over, Fn&& fn) {
  static_assert(coro::safe_in_co_await<Fn>,
                "GCC 12 destroys such a temporary in a co_await expression twice: name it");
  return coro::for_each(std::views::all(std::forward<Range>(over)), std::decay_t<Fn>(std::forward<Fn>(fn)));
}
/// The same for the numbers 0 to n - 1.
template <class Fn>
  requires std::invocable<std::decay_t<Fn>&, std::size_t>
[[nodiscard]] task<> parallel_for(std::size_t n, Fn&& fn) {
  return parallel_for(std::views::iota(std::size_t{0}, n), std::forward<Fn>(fn));
}

/// The same with values: returns combine(combine(init, map(e0)), map(e1)) ... for an associative combine(T,
/// T). The grouping depends only on the size of the range, so floating-point results are the same on every
/// machine.
///
///     const double sum = co_await parallel_reduce(samples, 0.0, &square, std::plus<>());
template <std::ranges::random_access_range Range, class T, class Map, class Combine>
  requires std::ranges::sized_range<Range> &&
           std::convertible_to<
               std::invoke_result_t<std::decay_t<Map>&, std::ranges::range_reference_t<Range>>, T>
[[nodiscard]] task<T> parallel_reduce(Range&& over, T init, Map&& map, Combine&& combine) {
  static_assert(coro::safe_in_co_await<Map> && coro::safe_in_co_await<Combine>,
                "GCC 12 destroys such a temporary in a co_await expression twice: name it");
  return coro::reduce(std::views::all(std::forward<Range>(over)), std::move(init),
                      std::decay_t<Map>(std::forward<Map>(map)),
                      std::decay_t<Combine>(std::forward<Combine>(combine)));
}
/// The same over the numbers 0 to n - 1.
template <class T, class Map, class Combine>
  requires std::convertible_to<std::invoke_result_t<std::decay_t<Map>&, std::size_t>, T>
[[nodiscard]] task<T> parallel_reduce(std::size_t n, T init, Map&& map, Combine&& combine) {
  return parallel_reduce(std::views::iota(std::size_t{0}, n), std::move(init), std::forward<Map>(map),
                         std::forward<Combine>(combine));
}

}  // namespace coracle
