#include "coracle/runtime/impl/parallel_chunks.hpp"

#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/runtime/loop.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace coracle::coro {

namespace {
constexpr std::size_t rounded_up(std::size_t n, std::size_t by) noexcept { return n / by + (n % by != 0); }
}  // namespace

parallel_chunks::parallel_chunks(std::size_t elements) noexcept
    : stop_callback([](stop_callback& c) noexcept {
        static_cast<parallel_chunks&>(c).halted_.store(true, std::memory_order_relaxed);
      }),
      elements_(elements),
      per_chunk_(std::max<std::size_t>(1, rounded_up(elements, chunks_max))),
      chunks_(rounded_up(elements, per_chunk_)) {}

std::size_t parallel_chunks::threads() const noexcept {
  const loop* owner_loop = loop::current();
  CORACLE_ASSERT(owner_loop, "parallel_for() requires a runtime: await it in a task that runs on a loop");
  coracle::runtime_internal::runtime_core& core = owner_loop->owner().core();
  if (core.driven_by()) return std::min<std::size_t>(1, chunks_);
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min({cores, core.pool().threads_max(), chunks_});
}

void parallel_chunks::request_stop_on(stop_token stop) noexcept {
  if (!stop.subscribe(*this)) halted_.store(true, std::memory_order_relaxed);
}

std::optional<parallel_chunks::chunk> parallel_chunks::next() noexcept {
  if (halted_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
  if (i >= chunks_) return std::nullopt;
  return chunk{i, i * per_chunk_, std::min(elements_, (i + 1) * per_chunk_)};
}

void parallel_chunks::failed(const chunk& c, std::exception_ptr error) noexcept {
  halted_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (error_ && failed_at_ < c.index) return;
  failed_at_ = c.index;
  error_ = std::move(error);
}

void parallel_chunks::throw_if_failed() {
  unlink();
  if (error_) std::rethrow_exception(std::move(error_));
  if (next_.load(std::memory_order_relaxed) < chunks_) throw cancelled();
}

}  // namespace coracle::coro
