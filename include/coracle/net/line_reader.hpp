// line_reader: reads the lines of a stream, an input or any other source with a read().
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace coracle::net {

/// Reads lines from `Source`. Reads ahead: bytes that it has taken from the source and not returned yet are
/// lost when it is destroyed. The source must outlive it. At most one next() may be in flight.
template <class Source>
class line_reader {
 public:
  /// The default limit of a line, so that a peer that never ends its line cannot exhaust the memory.
  static constexpr std::size_t default_line_bytes_max = 64 * 1024;

  /// Reads from `from`, such as a net::stream or a net::input. `line_bytes_max` limits one line, without its
  /// terminator.
  explicit line_reader(Source& from, std::size_t line_bytes_max = default_line_bytes_max) noexcept
      : from_(from), line_bytes_max_(line_bytes_max) {}

  /// Returns the next line without its terminator ("\n" or "\r\n"), or nullopt at the end of the source. A
  /// last line without a terminator counts as a line. Fails with RESOURCE_EXHAUSTED for a line that exceeds
  /// the limit, and with the source's own errors. After a call that was stopped, the next call continues at
  /// the same place.
  [[nodiscard]] task<result<std::optional<std::string>>> next() {
    for (;;) {
      const std::size_t end = held_.find('\n', searched_);
      if (end != std::string::npos) co_return take(end, end + 1);
      searched_ = held_.size();
      if (ended_ && held_.empty()) co_return std::optional<std::string>();
      if (ended_) co_return take(held_.size(), held_.size());
      if (held_.size() > line_bytes_max_)
        co_return status::resource_exhausted("a line exceeds the limit of " +
                                             std::to_string(line_bytes_max_) + " bytes");
      constexpr std::size_t step_bytes = 4096;
      held_.resize(searched_ + step_bytes);
      const mutable_bytes room(reinterpret_cast<std::uint8_t*>(held_.data()) + searched_, step_bytes);
      result<std::size_t> n = std::size_t{0};
      try {
        n = co_await from_.read(room);
      } catch (...) {
        held_.resize(searched_);
        throw;
      }
      held_.resize(searched_ + (n.ok() ? *n : 0));
      if (!n) co_return n.status();
      ended_ = *n == 0;
    }
  }

 private:
  std::optional<std::string> take(std::size_t size, std::size_t with_its_end) {
    std::string line = held_.substr(0, size);
    held_.erase(0, with_its_end);
    searched_ = 0;
    if (with_its_end > size && line.ends_with('\r')) line.pop_back();
    return line;
  }

  Source& from_;
  const std::size_t line_bytes_max_;
  std::string held_;
  std::size_t searched_ = 0;
  bool ended_ = false;
};

}  // namespace coracle::net
