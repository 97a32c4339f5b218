// CallMetricRecorder: what a handler reports about the load of its call (ORCA, gRFC A51).
#pragma once

#include <grpcpp/impl/one_library.h>
#include <grpcpp/support/string_ref.h>

namespace grpc {

class ServerBuilder;

namespace experimental {

/// Records the load of a call. The report is sent with the status, in the trailing metadata
/// `endpoint-load-metrics-bin`, if anything was recorded until the handler has ended the call; what it does not
/// have is filled with the values of the ServerMetricRecorder, if there is one. Values that are out of range are
/// ignored, and the last one of several counts. Valid as long as the ServerContext; any thread.
///
///   context->ExperimentalGetCallMetricRecorder()->RecordCpuUtilizationMetric(0.5).RecordQpsMetric(100);
class CallMetricRecorder {
 public:
  virtual ~CallMetricRecorder() = default;
  /// At least 0; above 1 if more is used than is reserved.
  virtual CallMetricRecorder& RecordCpuUtilizationMetric(double value) = 0;
  /// 0 to 1.
  virtual CallMetricRecorder& RecordMemoryUtilizationMetric(double value) = 0;
  /// At least 0.
  virtual CallMetricRecorder& RecordApplicationUtilizationMetric(double value) = 0;
  /// Calls per second, at least 0.
  virtual CallMetricRecorder& RecordQpsMetric(double value) = 0;
  /// Failed calls per second, at least 0.
  virtual CallMetricRecorder& RecordEpsMetric(double value) = 0;
  /// 0 to 1. The names are copied.
  virtual CallMetricRecorder& RecordUtilizationMetric(string_ref name, double value) = 0;
  /// Any number, as that of RecordNamedMetric().
  virtual CallMetricRecorder& RecordRequestCostMetric(string_ref name, double value) = 0;
  virtual CallMetricRecorder& RecordNamedMetric(string_ref name, double value) = 0;
};

/// The older form of ServerBuilder::experimental().EnableCallMetricRecording().
void EnableCallMetricRecording(ServerBuilder* builder);

}  // namespace experimental
}  // namespace grpc
