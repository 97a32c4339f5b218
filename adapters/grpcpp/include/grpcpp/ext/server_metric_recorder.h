// ServerMetricRecorder: what a program reports about the load of its server (ORCA, gRFC A51).
#pragma once

#include <grpcpp/impl/one_library.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>

namespace grpc {

namespace internal {

class server_metrics;  // private: src/server/server_metrics.hpp
class server_core;

}  // namespace internal

namespace experimental {

class OrcaService;

/// The values of a server, which stay until they are set again or cleared. They are sent with calls
/// (ServerBuilder::experimental().EnableCallMetricRecording()), in streams (OrcaService), or both. Values that
/// are out of range are ignored. Any thread; the object outlives the servers and services that have it.
class ServerMetricRecorder {
 public:
  static std::unique_ptr<ServerMetricRecorder> Create();
  ServerMetricRecorder(const ServerMetricRecorder&) = delete;
  ServerMetricRecorder& operator=(const ServerMetricRecorder&) = delete;
  ~ServerMetricRecorder();

  /// At least 0; above 1 if more is used than is reserved.
  void SetCpuUtilization(double value);
  /// 0 to 1.
  void SetMemoryUtilization(double value);
  /// At least 0.
  void SetApplicationUtilization(double value);
  /// Calls per second, at least 0.
  void SetQps(double value);
  /// Failed calls per second, at least 0.
  void SetEps(double value);
  /// 0 to 1. The names are copied.
  void SetNamedUtilization(string_ref name, double value);
  /// Replaces all named utilizations.
  void SetAllNamedUtilization(std::map<string_ref, double> named_utilization);

  void ClearCpuUtilization();
  void ClearMemoryUtilization();
  void ClearApplicationUtilization();
  void ClearQps();
  void ClearEps();
  void ClearNamedUtilization(string_ref name);

 private:
  friend class OrcaService;
  friend class internal::server_core;
  ServerMetricRecorder();
  std::unique_ptr<internal::server_metrics> metrics_;
};

}  // namespace experimental
}  // namespace grpc
