// sampler: decides which traces are recorded.
#pragma once

#include "coracle/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

/// @cond
namespace telemetry_internal {
struct sampler_rule;  // private: src/telemetry/traces/sampler_rule.hpp
}
/// @endcond

/// Decides which traces are recorded. It decides about spans that begin a trace in this program, and about
/// those whose parent is in another process; spans below these follow their parents, so that a trace has no
/// gaps. A value type that is cheap to copy.
class sampler {
 public:
  /// Records every trace.
  static sampler always_on();
  /// Records none.
  static sampler always_off();
  /// Records this share of traces, from 0 to 1, by their ids: all programs that use the same share record
  /// the same traces. A trace that begins here gets the share in its tracestate (`ot=th:...`), from which
  /// tools compute totals. Values outside of the range count as its end.
  static sampler ratio(double share);
  /// Records up to this many traces per second on each loop, in bursts of at most one second. A limit below
  /// 1 lets one trace pass each 1 / limit seconds.
  static sampler rate_limited(double per_second);
  /// Follows the caller, where there is one; `root` decides about traces that begin here. Use it around the
  /// others, unless callers are not to be trusted.
  static sampler parent_based(sampler root);
  /// Decides by the method: the first rule whose name matches applies, else `otherwise`. A name is
  /// "package.Service/Method", or "package.Service/*" for all methods of a service. Spans of users that
  /// belong to no call match their own name.
  static sampler by_method(std::vector<std::pair<std::string, sampler>> rules, sampler otherwise);

  /// Returns the sampler that the values of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name:
  /// always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off,
  /// parentbased_traceidratio. Returns INVALID_ARGUMENT for another name, or if the argument is not a
  /// number from 0 to 1. An empty argument counts as 1.
  static result<sampler> parse(std::string_view name, std::string_view argument = {});

  /// @cond  For the library.
  [[nodiscard]] const std::shared_ptr<const telemetry_internal::sampler_rule>& rule() const noexcept {
    return rule_;
  }
  /// @endcond

 private:
  explicit sampler(std::shared_ptr<const telemetry_internal::sampler_rule> rule) noexcept
      : rule_(std::move(rule)) {}
  std::shared_ptr<const telemetry_internal::sampler_rule> rule_;
};

}  // namespace coracle
