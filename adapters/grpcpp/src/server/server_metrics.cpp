#include "adapters/grpcpp/src/server/server_metrics.hpp"

#include <grpcpp/ext/orca_service.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/server_builder.h>

#include "coracle/services/orca_service.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

namespace grpc {

namespace internal {
namespace {

std::string_view view_of(string_ref name) noexcept { return {name.data(), name.size()}; }

// The ranges of A51. A value that is out of range leaves the one before; NaN is out of each.
bool is_share(double value) noexcept { return value >= 0 && value <= 1; }
void set_rate(std::optional<double>& value, double to) {
  if (to >= 0) value = to;
}

}  // namespace

void server_metrics::publish() {
  reporter_->update([this](coracle::load_report& r) {
    r.clear();
    if (values_.cpu) r.set_cpu_utilization(*values_.cpu);
    if (values_.memory) r.set_memory_utilization(*values_.memory);
    if (values_.application) r.set_application_utilization(*values_.application);
    if (values_.qps) r.set_qps(*values_.qps);
    if (values_.eps) r.set_eps(*values_.eps);
    for (const auto& [name, share] : values_.utilizations) r.set_utilization(name, share);
  });
}

using recorder = experimental::CallMetricRecorder;

recorder& call_metrics::RecordCpuUtilizationMetric(double value) {
  return record([&](auto& r) { r.set_cpu_utilization(value); });
}
recorder& call_metrics::RecordMemoryUtilizationMetric(double value) {
  return record([&](auto& r) { r.set_memory_utilization(value); });
}
recorder& call_metrics::RecordApplicationUtilizationMetric(double value) {
  return record([&](auto& r) { r.set_application_utilization(value); });
}
recorder& call_metrics::RecordQpsMetric(double value) {
  return record([&](auto& r) { r.set_qps(value); });
}
recorder& call_metrics::RecordEpsMetric(double value) {
  return record([&](auto& r) { r.set_eps(value); });
}
recorder& call_metrics::RecordUtilizationMetric(string_ref name, double value) {
  return record([&](auto& r) { r.set_utilization(view_of(name), value); });
}
recorder& call_metrics::RecordRequestCostMetric(string_ref name, double value) {
  return record([&](auto& r) { r.set_cost(view_of(name), value); });
}
recorder& call_metrics::RecordNamedMetric(string_ref name, double value) {
  return record([&](auto& r) { r.set_metric(view_of(name), value); });
}

coracle::load_report call_metrics::report() const {
  const std::lock_guard lock(changing_);
  return report_;
}

}  // namespace internal

namespace experimental {

using internal::server_metrics;
using values = server_metrics::values;

ServerMetricRecorder::ServerMetricRecorder() : metrics_(std::make_unique<server_metrics>()) {}
ServerMetricRecorder::~ServerMetricRecorder() = default;

std::unique_ptr<ServerMetricRecorder> ServerMetricRecorder::Create() {
  return std::unique_ptr<ServerMetricRecorder>(new ServerMetricRecorder());
}

void ServerMetricRecorder::SetCpuUtilization(double value) {
  metrics_->update([&](values& v) { internal::set_rate(v.cpu, value); });
}
void ServerMetricRecorder::SetMemoryUtilization(double value) {
  if (internal::is_share(value)) metrics_->update([&](values& v) { v.memory = value; });
}
void ServerMetricRecorder::SetApplicationUtilization(double value) {
  metrics_->update([&](values& v) { internal::set_rate(v.application, value); });
}
void ServerMetricRecorder::SetQps(double value) {
  metrics_->update([&](values& v) { internal::set_rate(v.qps, value); });
}
void ServerMetricRecorder::SetEps(double value) {
  metrics_->update([&](values& v) { internal::set_rate(v.eps, value); });
}
void ServerMetricRecorder::SetNamedUtilization(string_ref name, double value) {
  if (!internal::is_share(value)) return;
  metrics_->update([&](values& v) { v.utilizations[std::string(internal::view_of(name))] = value; });
}
void ServerMetricRecorder::SetAllNamedUtilization(std::map<string_ref, double> named_utilization) {
  metrics_->update([&](values& v) {
    v.utilizations.clear();
    for (const auto& [name, value] : named_utilization)
      if (internal::is_share(value)) v.utilizations.emplace(internal::view_of(name), value);
  });
}
void ServerMetricRecorder::ClearCpuUtilization() {
  metrics_->update([](values& v) { v.cpu.reset(); });
}
void ServerMetricRecorder::ClearMemoryUtilization() {
  metrics_->update([](values& v) { v.memory.reset(); });
}
void ServerMetricRecorder::ClearApplicationUtilization() {
  metrics_->update([](values& v) { v.application.reset(); });
}
void ServerMetricRecorder::ClearQps() {
  metrics_->update([](values& v) { v.qps.reset(); });
}
void ServerMetricRecorder::ClearEps() {
  metrics_->update([](values& v) { v.eps.reset(); });
}
void ServerMetricRecorder::ClearNamedUtilization(string_ref name) {
  metrics_->update([&](values& v) {
    if (const auto found = v.utilizations.find(internal::view_of(name)); found != v.utilizations.end())
      v.utilizations.erase(found);
  });
}

OrcaService::OrcaService(ServerMetricRecorder* recorder, Options options) {
  if (!recorder) throw std::invalid_argument("an OrcaService requires a ServerMetricRecorder");
  answers_ = std::make_unique<coracle::orca_service>(recorder->metrics_->reporter(),
                                                     options.min_report_duration.length());
  answer_by(*answers_);
}
OrcaService::~OrcaService() = default;

void EnableCallMetricRecording(ServerBuilder* builder) {
  builder->experimental().EnableCallMetricRecording();
}

}  // namespace experimental
}  // namespace grpc
