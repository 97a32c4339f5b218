// sampler_rule: what a sampler consists of, and how a loop decides by it.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/telemetry/sampler.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// Traces are recorded if the low 56 bits of their ids, which are random, reach a threshold (OpenTelemetry's
// consistent probability sampling).
inline constexpr unsigned random_bits = 56;
inline constexpr std::uint64_t never_sampled = std::uint64_t{1} << random_bits;
[[nodiscard]] constexpr std::uint64_t random_part(std::uint64_t v) noexcept {
  return v & (never_sampled - 1);
}

struct sampler_rule {
  enum class form : std::uint8_t { threshold, rate, parent, method };
  using pointer = std::shared_ptr<const sampler_rule>;

  form kind = form::threshold;
  bool is_ratio = false;  // of a threshold: it is written to the tracestate
  std::uint64_t threshold = 0;
  double per_second = 0;
  pointer otherwise;  // of parent and method
  std::vector<std::pair<std::string, pointer>> methods;
};

// What a decision depends on.
struct sampling_request {
  bool has_parent = false;
  bool parent_sampled = false;
  std::string_view method;  // "package.Service/Method"
  std::uint64_t random = 0;  // of the trace; only its low 56 bits
  time_point now{};
};

struct sampling_decision {
  bool sampled = false;
  // The threshold to write to the tracestate; -1: none.
  std::int64_t threshold = -1;
};

// Belongs to one loop, with the state of its rate limits.
class loop_sampler {
 public:
  explicit loop_sampler(const sampler& s) : root_(s.rule()) {}
  // Throws std::bad_alloc.
  [[nodiscard]] sampling_decision decide(const sampling_request& r) { return decide(*root_, r); }
  // Returns the threshold that decides about all traces that begin here; -1 if it is not that simple.
  [[nodiscard]] std::int64_t root_threshold() const noexcept;

 private:
  struct bucket {
    double tokens = 0;
    time_point filled{};
  };
  sampling_decision decide(const sampler_rule& rule, const sampling_request& r);
  bool take_token(const sampler_rule& rule, time_point now);

  sampler_rule::pointer root_;
  std::unordered_map<const sampler_rule*, bucket> buckets_;
};

// Returns the value of a threshold in the tracestate: 14 hexadecimal digits without trailing zeros.
[[nodiscard]] std::string threshold_text(std::uint64_t threshold);

}  // namespace coracle::telemetry_internal
