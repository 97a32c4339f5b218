// progress: shows the progress of a run, on stderr and in files.
#pragma once

#include "tools/load/live_export.hpp"
#include "tools/load/load_stats.hpp"

#include <coracle/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace coracle::tools::load {

// On a terminal, shows one line that is updated each second. Elsewhere, if requested, prints a line per
// second in the format of coracle::call_statistics with more fields at its end:
//
//   second=3 calls=1234 mean_us=81 max_us=950 min_us=12 errors=3 active=50 p50_us=78 p99_us=210
class progress {
 public:
  // `lines`: print lines even if stderr is not a terminal, and instead of the updated line if it is.
  // `exported` gets each second, too, and must outlive this object.
  progress(bool lines, live_export& exported);

  void begins(const std::string& run, const std::string& scenario, std::optional<duration> length,
              std::optional<std::uint64_t> planned);
  // `left` is the remaining time of the warm-up.
  void warms_up(duration left);
  void second_passed(std::size_t second, const second_of_load& s);
  void ends();

 private:
  [[nodiscard]] std::string part_done(std::size_t second) const;
  const bool lines_;
  const bool live_;
  live_export& exported_;
  std::optional<duration> length_;
  std::optional<std::uint64_t> planned_;
  std::uint64_t calls_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace coracle::tools::load
