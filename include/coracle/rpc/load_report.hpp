// load_report: what a server reports about its load (gRFC A51, ORCA).
#pragma once

#include "coracle/rpc/metadata.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {

/// The load of a server, or of one call on it: `xds.data.orca.v3.OrcaLoadReport`.
///
/// A handler records the load of its call in server_context::load(); a load_reporter has that of the server.
/// Clients get a report with the trailing metadata of a call, or by a stream (pick_policy). The setters
/// ignore values that are out of range or no numbers, and the last value that was set counts. A value type,
/// used by one thread at a time.
class load_report {
 public:
  /// Named values, ordered by their names.
  using values = std::map<std::string, double, std::less<>>;

  /// Without any value.
  load_report() noexcept = default;

  /// Sets the share of the CPU that is used: at least 0, and above 1 if more is used than is reserved.
  load_report& set_cpu_utilization(double share);
  /// Sets the share of the memory that is used, 0 to 1.
  load_report& set_memory_utilization(double share);
  /// Sets the utilization as the application defines it, at least 0. Clients that weigh servers by their load
  /// prefer it to that of the CPU.
  load_report& set_application_utilization(double share);
  /// Sets the calls per second, at least 0.
  load_report& set_qps(double calls_per_second);
  /// Sets the failed calls per second, at least 0.
  load_report& set_eps(double errors_per_second);
  /// Sets what the call has cost in a unit of the application's own, such as `db_queries`; any number. Only
  /// in reports of calls.
  load_report& set_cost(std::string_view name, double cost);
  /// Sets the utilization of a resource of the application's own, 0 to 1.
  load_report& set_utilization(std::string_view name, double share);
  /// Sets a value of the application's own; any number.
  load_report& set_metric(std::string_view name, double value);
  /// Removes every value.
  void clear() noexcept { *this = load_report(); }

  /// Returns the values that were set; empty for others.
  [[nodiscard]] std::optional<double> cpu_utilization() const noexcept { return cpu_; }
  /// The same for set_memory_utilization().
  [[nodiscard]] std::optional<double> memory_utilization() const noexcept { return memory_; }
  /// The same for set_application_utilization().
  [[nodiscard]] std::optional<double> application_utilization() const noexcept { return application_; }
  /// The same for set_qps().
  [[nodiscard]] std::optional<double> qps() const noexcept { return qps_; }
  /// The same for set_eps().
  [[nodiscard]] std::optional<double> eps() const noexcept { return eps_; }
  /// Returns what set_cost() has set.
  [[nodiscard]] const values& costs() const noexcept { return costs_; }
  /// Returns what set_utilization() has set.
  [[nodiscard]] const values& utilizations() const noexcept { return utilizations_; }
  /// Returns what set_metric() has set.
  [[nodiscard]] const values& metrics() const noexcept { return metrics_; }
  /// Returns whether nothing was set.
  [[nodiscard]] bool empty() const noexcept;

  /// Returns these values, and those of `other` that are not set here, name by name.
  [[nodiscard]] load_report or_else(const load_report& other) const;

  /// Returns the report that came with the trailing metadata of a call; empty if there is none, or if it is
  /// malformed. Values that are out of range are left out. Of several reports the last one counts.
  [[nodiscard]] static std::optional<load_report> of_call(const metadata& trailing);
  /// Returns the serialized message, for `endpoint-load-metrics-bin` and for messages of the same definition.
  [[nodiscard]] std::string serialize() const;
  /// The opposite of serialize(); empty if the message is malformed.
  [[nodiscard]] static std::optional<load_report> parse(std::string_view message);

  friend bool operator==(const load_report&, const load_report&) = default;

 private:
  std::optional<double> cpu_;
  std::optional<double> memory_;
  std::optional<double> application_;
  std::optional<double> qps_;
  std::optional<double> eps_;
  values costs_;
  values utilizations_;
  values metrics_;
};

}  // namespace coracle
