#include "coracle/rpc/load_report.hpp"

#include "protocol/grpc/header_names.hpp"
#include "rpc/proto_wire.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace coracle {

namespace {

// The fields of xds.data.orca.v3.OrcaLoadReport.
enum field : std::uint32_t {
  cpu_utilization = 1,
  mem_utilization = 2,
  rps = 3,  // deprecated; a whole number
  request_cost = 4,
  utilization = 5,
  rps_fractional = 6,
  eps = 7,
  named_metrics = 8,
  application_utilization = 9,
};
// The fields of an entry of a map.
constexpr std::uint32_t key_field = 1;
constexpr std::uint32_t value_field = 2;

bool is_at_least_0(double n) noexcept { return std::isfinite(n) && n >= 0; }
bool is_share(double n) noexcept { return is_at_least_0(n) && n <= 1; }

void set(load_report::values& in, std::string_view name, double value) {
  if (const auto found = in.find(name); found != in.end()) found->second = value;
  else in.emplace(name, value);
}

void put(std::string& to, field f, const std::optional<double>& n) {
  if (n) rpc::put_double(to, f, *n);
}

void put(std::string& to, field f, const load_report::values& all) {
  std::string entry;
  for (const auto& [name, value] : all) {
    entry.clear();
    rpc::put_text(entry, key_field, name);
    rpc::put_double(entry, value_field, value);
    rpc::put_text(to, f, entry, true);
  }
}

void fill(std::optional<double>& to, const std::optional<double>& from) noexcept {
  if (!to) to = from;
}

}  // namespace

load_report& load_report::set_cpu_utilization(double share) {
  if (is_at_least_0(share)) cpu_ = share;
  return *this;
}
load_report& load_report::set_memory_utilization(double share) {
  if (is_share(share)) memory_ = share;
  return *this;
}
load_report& load_report::set_application_utilization(double share) {
  if (is_at_least_0(share)) application_ = share;
  return *this;
}
load_report& load_report::set_qps(double calls_per_second) {
  if (is_at_least_0(calls_per_second)) qps_ = calls_per_second;
  return *this;
}
load_report& load_report::set_eps(double errors_per_second) {
  if (is_at_least_0(errors_per_second)) eps_ = errors_per_second;
  return *this;
}
load_report& load_report::set_cost(std::string_view name, double cost) {
  if (std::isfinite(cost)) set(costs_, name, cost);
  return *this;
}
load_report& load_report::set_utilization(std::string_view name, double share) {
  if (is_share(share)) set(utilizations_, name, share);
  return *this;
}
load_report& load_report::set_metric(std::string_view name, double value) {
  if (std::isfinite(value)) set(metrics_, name, value);
  return *this;
}

bool load_report::empty() const noexcept {
  return !cpu_ && !memory_ && !application_ && !qps_ && !eps_ && costs_.empty() && utilizations_.empty() &&
         metrics_.empty();
}

load_report load_report::or_else(const load_report& other) const {
  load_report both = *this;
  fill(both.cpu_, other.cpu_);
  fill(both.memory_, other.memory_);
  fill(both.application_, other.application_);
  fill(both.qps_, other.qps_);
  fill(both.eps_, other.eps_);
  both.costs_.insert(other.costs_.begin(), other.costs_.end());
  both.utilizations_.insert(other.utilizations_.begin(), other.utilizations_.end());
  both.metrics_.insert(other.metrics_.begin(), other.metrics_.end());
  return both;
}

std::optional<load_report> load_report::of_call(const metadata& trailing) {
  std::optional<std::string_view> last;
  for (const auto f : trailing)
    if (f.name == protocol::grpc::load_report_header) last = f.value;
  return last ? parse(*last) : std::nullopt;
}

std::string load_report::serialize() const {
  std::string message;
  put(message, field::cpu_utilization, cpu_);
  put(message, field::mem_utilization, memory_);
  put(message, field::request_cost, costs_);
  put(message, field::utilization, utilizations_);
  put(message, field::rps_fractional, qps_);
  put(message, field::eps, eps_);
  put(message, field::named_metrics, metrics_);
  put(message, field::application_utilization, application_);
  return message;
}

std::optional<load_report> load_report::parse(std::string_view message) {
  load_report r;
  rpc::proto_reader in(message);
  while (in.next()) {
    const double n = std::bit_cast<double>(in.number());
    switch (in.field()) {
      case field::cpu_utilization: r.set_cpu_utilization(n); continue;
      case field::mem_utilization: r.set_memory_utilization(n); continue;
      case field::rps_fractional: r.set_qps(n); continue;
      case field::eps: r.set_eps(n); continue;
      case field::application_utilization: r.set_application_utilization(n); continue;
      case field::request_cost:
      case field::utilization:
      case field::named_metrics: break;
      default: continue;
    }
    std::string_view name;
    double value = 0;
    rpc::proto_reader entry(in.text());
    while (entry.next()) {
      if (entry.field() == key_field) name = entry.text();
      if (entry.field() == value_field) value = std::bit_cast<double>(entry.number());
    }
    if (!entry.ok()) return std::nullopt;
    if (in.field() == field::request_cost) r.set_cost(name, value);
    else if (in.field() == field::utilization) r.set_utilization(name, value);
    else r.set_metric(name, value);
  }
  if (!in.ok()) return std::nullopt;
  return r;
}

}  // namespace coracle
