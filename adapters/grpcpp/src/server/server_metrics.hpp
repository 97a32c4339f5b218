// server_metrics, call_metrics: what programs record of load (grpcpp/ext), as reports of Coracle.
#pragma once

#include <grpcpp/ext/call_metric_recorder.h>

#include "coracle/rpc/load_report.hpp"
#include "coracle/server/load_reporter.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace grpc::internal {

// The values of a server. A load_report has no way to remove one, so that a report is made anew for each change.
class server_metrics {
 public:
  struct values {
    std::optional<double> cpu;
    std::optional<double> memory;
    std::optional<double> application;
    std::optional<double> qps;
    std::optional<double> eps;
    std::map<std::string, double, std::less<>> utilizations;
  };

  // Any thread.
  template <class Change>
  void update(Change change) {
    const std::lock_guard lock(changing_);
    change(values_);
    publish();
  }
  [[nodiscard]] const std::shared_ptr<coracle::load_reporter>& reporter() const noexcept { return reporter_; }

 private:
  void publish();  // with the lock

  std::mutex changing_;
  values values_;
  const std::shared_ptr<coracle::load_reporter> reporter_ = std::make_shared<coracle::load_reporter>();
};

// The values of a call. Its end takes them on the loop, while the program may still record.
class call_metrics final : public experimental::CallMetricRecorder {
 public:
  CallMetricRecorder& RecordCpuUtilizationMetric(double value) override;
  CallMetricRecorder& RecordMemoryUtilizationMetric(double value) override;
  CallMetricRecorder& RecordApplicationUtilizationMetric(double value) override;
  CallMetricRecorder& RecordQpsMetric(double value) override;
  CallMetricRecorder& RecordEpsMetric(double value) override;
  CallMetricRecorder& RecordUtilizationMetric(string_ref name, double value) override;
  CallMetricRecorder& RecordRequestCostMetric(string_ref name, double value) override;
  CallMetricRecorder& RecordNamedMetric(string_ref name, double value) override;
  [[nodiscard]] coracle::load_report report() const;

 private:
  template <class Change>
  CallMetricRecorder& record(Change change) {
    const std::lock_guard lock(changing_);
    change(report_);
    return *this;
  }
  mutable std::mutex changing_;
  coracle::load_report report_;
};

}  // namespace grpc::internal
