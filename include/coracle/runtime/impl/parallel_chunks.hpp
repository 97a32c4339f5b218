// parallel_chunks: how parallel_for distributes a range over threads.
#pragma once

#include "coracle/coro/stop_token.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>

namespace coracle::coro {

// Lives in the frame of parallel_for() until every helper has ended. Chunks are handed out in order, so when
// a helper takes one, all chunks before it have begun: the first error of all chunks that ran is the first
// error of the whole range.
class parallel_chunks : stop_callback {
 public:
  // Few enough that one value per chunk takes little memory; many enough that threads end at about the same
  // time and a stop takes effect soon. It does not depend on the number of threads, which must not change a
  // result.
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
  // Returns how many threads are worth using, given the runtime and this machine. On a loop only.
  [[nodiscard]] std::size_t threads() const noexcept;
  // Makes `stop` prevent further chunks from beginning. On the loop, like everything that uses the token.
  void request_stop_on(stop_token stop) noexcept;

  // Returns the next chunk, or an empty optional when no further chunk shall begin. Thread-safe.
  std::optional<chunk> next() noexcept;
  // Records the error of a chunk and prevents further chunks from beginning. Thread-safe.
  void failed(const chunk& c, std::exception_ptr error) noexcept;

  // When every helper has ended: throws the first error, or coro::cancelled if chunks were left out.
  void throw_if_failed();

 private:
  const std::size_t elements_;
  const std::size_t per_chunk_;
  const std::size_t chunks_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> halted_{false};
  std::mutex mutex_;  // guards the following members
  std::size_t failed_at_ = 0;
  std::exception_ptr error_;
};

}  // namespace coracle::coro
