#include "tools/load/expectation.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"
#include "tools/load/results.hpp"
#include "tools/units.hpp"

#include <cmath>
#include <limits>

namespace coracle::tools::load {

namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string plain(double value) {
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

expectation::expectation(std::string_view text) : text_(text) {
  const auto refuse = [&](const std::string& reason) {
    return usage_failure("--expect '" + text_ + "': " + reason);
  };
  const std::size_t sign = text.find_first_of("<>");
  if (sign == text.npos) throw refuse("write a condition, such as p99<20ms, errors<0.1% or rate>1000");
  const bool or_equal = text.substr(sign + 1).starts_with('=');
  if (text[sign] == '<') comparison_ = or_equal ? comparison::at_most : comparison::less;
  else comparison_ = or_equal ? comparison::at_least : comparison::more;
  const std::string_view name = trimmed(text.substr(0, sign));
  std::string_view limit = trimmed(text.substr(sign + (or_equal ? 2 : 1)));

  const auto number = [&](std::string_view digits) {
    const auto value = read_number(digits);
    if (!value) throw refuse("'" + std::string(digits) + "' is not a number");
    return *value;
  };
  if (name == "rate") {
    measure_ = measure::rate;
    limit_ = number(limit);
  } else if (name == "errors") {
    measure_ = limit.ends_with('%') ? measure::error_share : measure::error_count;
    if (measure_ == measure::error_share) limit.remove_suffix(1);
    limit_ = number(trimmed(limit)) / (measure_ == measure::error_share ? 100 : 1);
  } else {
    if (name == "min") measure_ = measure::min;
    else if (name == "mean") measure_ = measure::mean;
    else if (name == "max") measure_ = measure::max;
    else if (name.starts_with('p')) measure_ = measure::quantile;
    else
      throw refuse("'" + std::string(name) +
                   "' is not a measured value; p50 to p100, min, mean, max, errors and rate are");
    if (measure_ == measure::quantile) quantile_ = number(name.substr(1)) / 100;
    if (quantile_ > 1) throw refuse("percentiles must not exceed p100");
    limit_ = static_cast<double>(parse_duration(limit, "--expect '" + text_ + "'").count());
  }
}

double expectation::found_in(const results& r) const {
  const auto time = [&](duration d) {
    return r.ok() == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(d.count());
  };
  switch (measure_) {
    case measure::quantile: return time(r.latency.quantile(quantile_));
    case measure::min: return time(r.latency.min());
    case measure::mean: return time(r.latency.mean());
    case measure::max: return time(r.latency.max());
    case measure::error_count: return static_cast<double>(r.failed_count);
    case measure::error_share: return r.failed_share();
    case measure::rate: return r.rate_per_s();
  }
  return 0;
}

// No comparison is true for NaN.
bool expectation::holds(double found) const noexcept {
  switch (comparison_) {
    case comparison::less: return found < limit_;
    case comparison::at_most: return found <= limit_;
    case comparison::more: return found > limit_;
    case comparison::at_least: return found >= limit_;
  }
  return false;
}

std::string expectation::format(double found) const {
  if (std::isnan(found)) return "unknown, since no call succeeded";
  switch (measure_) {
    case measure::error_count: return plain(found);
    case measure::error_share: return plain(found * 100) + "%";
    case measure::rate: return plain(found) + "/s";
    default: return format_duration(duration(static_cast<duration::rep>(found)));
  }
}

expectation::verdict expectation::judge(const results& r) const {
  const double found = found_in(r);
  return {text_, format(found), holds(found)};
}

}  // namespace coracle::tools::load
