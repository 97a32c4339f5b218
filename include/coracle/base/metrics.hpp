// metrics: instruments, which describe what is measured, and the interface that receives the measurements.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace coracle {

/// What the values of an instrument mean (the instruments of OpenTelemetry).
enum class instrument_kind : unsigned char {
  counter,          ///< a sum of values that are not negative
  up_down_counter,  ///< a sum of values of both signs: what exists at the moment
  gauge,            ///< the latest value
  histogram,        ///< how many values lie in each of a list of buckets
};

/// The keys of an instrument's labels, at most `max` of them. A literal type.
class label_keys {
 public:
  /// The maximum number of labels of an instrument.
  static constexpr std::size_t max = 8;
  /// No labels.
  constexpr label_keys() noexcept = default;
  /// The keys in the order in which measurements give the values. Keys beyond `max` do not compile.
  constexpr label_keys(std::initializer_list<std::string_view> keys) {
    for (const std::string_view k : keys) keys_.at(count_++) = k;
  }
  /// Returns the number of keys.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  /// Returns the key at `i`, which is less than size().
  [[nodiscard]] constexpr std::string_view operator[](std::size_t i) const noexcept { return keys_[i]; }
  /// @{
  /// The keys in order.
  [[nodiscard]] constexpr const std::string_view* begin() const noexcept { return keys_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const noexcept { return keys_.data() + count_; }
  /// @}

 private:
  std::array<std::string_view, max> keys_{};
  std::size_t count_ = 0;
};

/// Describes what is measured: an instrument of OpenTelemetry (gRFC A79). An aggregate; its texts, and the
/// instrument itself, must outlive every runtime that measures with it, so define it with static lifetime:
///
///   constexpr coracle::instrument uploads{
///       .name = "movies.uploads", .description = "Files that clients uploaded.", .unit = "{file}",
///       .kind = coracle::instrument_kind::counter, .labels = {"format"}};
///
/// The address of an instrument is its identity: two instruments with one name are reported twice.
struct instrument {
  /// The name, in lower case with dots: "movies.uploads". Names that begin with "grpc." belong to gRPC, and
  /// those that begin with "coracle." to this library.
  std::string_view name;
  std::string_view description;  ///< one sentence, for people
  /// The unit in UCUM's notation: "s", "By", "1", or "{file}" for a number of files.
  std::string_view unit;
  instrument_kind kind = instrument_kind::counter;  ///< what the values mean
  label_keys labels;  ///< the labels that are always reported
  /// Labels that are reported only if telemetry_options::optional_labels has their keys. A measurement gives
  /// their values after those of `labels`.
  label_keys optional_labels;
  /// Of a histogram: the upper bounds of the buckets, in ascending order; a value equal to a bound lies below
  /// it. One more bucket has what is above the last bound.
  std::span<const double> bounds;
  /// Whether it is reported unless telemetry_options turns it off. Default: true. Else it is reported only
  /// if telemetry_options::enabled has its name.
  bool on_by_default = true;
};

/// Receives the measurements of one loop. The room `telemetry` implements it; a program with another metrics
/// library can derive from it and pass one to executor::use_metrics() of each loop.
class metrics_sink {
 public:
  /// Takes one measurement. Runs on the loop, within what is measured: it must be short, must not block, and
  /// must copy what it keeps. `values` has the values of the labels, then those of the optional labels, which
  /// may be left out.
  virtual void measure(const instrument& by, double value,
                       std::span<const std::string_view> values) noexcept = 0;

 protected:
  ~metrics_sink() = default;
};

/// Something on a loop whose values are read with the metrics, instead of being measured
/// when they change: how many connections there are, say. Add it with executor::add_metrics().
class metrics_source : public base::list_hook {
 public:
  /// Measures the present values into `to`: the totals of counters, and what exists at the moment. The values
  /// of all sources of a loop, and of all loops, are summed. Runs on the loop; must be short, and must not
  /// add or remove sources.
  virtual void report(metrics_sink& to) const noexcept = 0;

 protected:
  metrics_source() noexcept = default;
  ~metrics_source() = default;
};

}  // namespace coracle
