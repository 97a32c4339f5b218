// parallel_chunks: how parallel_for shares a range out to threads.
#pragma once

#include "coracle/coro/stop_token.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>

namespace coracle::coro {

// Lives in the frame of parallel_for() until every helper has ended. Chunks are handed out in order, so
// whoever takes one knows that all before it have begun: the first error of all chunks that ran is the
// first of the whole range.
class parallel_chunks : stop_callback {
 public:
  // Few enough that one value each is little memory, many enough that threads end at about the same
  // time and a stop is seen soon. Not a matter of the number of threads, which must not change a result.
  static constexpr std::size_t chunks_max = 256;
  struct chunk {
    std::size_t index;
    std::size_t begin;  // elements
    std::size_t end;
  };
  explicit parallel_chunks(std::size_t elements) noexcept;
  parallel_chunks(const parallel_chunks&) = delete;
  parallel_chunks& operator=(const parallel_chunks&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return chunks_; }
  // On a loop: how many threads are worth taking, given its runtime and this machine.
  [[nodiscard]] std::size_t threads() const noexcept;
  // No chunk begins after a stop. On the loop, like all of the token.
  void heed(stop_token stop) noexcept;

  // Any thread: empty when no more shall begin.
  std::optional<chunk> next() noexcept;
  void failed(const chunk& c, std::exception_ptr error) noexcept;

  // When every helper has ended: the first error, or coro::cancelled if chunks are left out.
  void throw_if_failed();

 private:
  const std::size_t elements_;
  const std::size_t per_chunk_;
  const std::size_t chunks_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> halted_{false};
  std::mutex mutex_;  // of what follows
  std::size_t failed_at_ = 0;
  std::exception_ptr error_;
};

}  // namespace coracle::coro
