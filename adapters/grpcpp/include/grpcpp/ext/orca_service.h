// OrcaService: reports the load of a server in streams (xds.service.orca.v3, gRFC A51).
#pragma once

#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <memory>
#include <utility>

namespace coracle {
class orca_service;
}

namespace grpc::experimental {

/// Reports what a ServerMetricRecorder has, out of band: a client gets a report at once, and then one after each
/// interval that it asks for, but not less than the minimum. Register it as any other service, which it outlives.
///
///   auto recorder = grpc::experimental::ServerMetricRecorder::Create();
///   grpc::experimental::OrcaService orca(recorder.get(), {});
///   builder.RegisterService(&orca);
class OrcaService : public Service {
 public:
  /// A duration of std::chrono or of Abseil, of which a program may use either.
  class interval {
   public:
    template <class Rep, class Period>
    interval(std::chrono::duration<Rep, Period> of)
        : length_(std::chrono::duration_cast<std::chrono::nanoseconds>(of)) {}
    template <class AbslDuration,
              class = decltype(ToChronoNanoseconds(std::declval<const AbslDuration&>()))>  // of its namespace
    interval(const AbslDuration& of) : length_(ToChronoNanoseconds(of)) {}
    std::chrono::nanoseconds length() const { return length_; }

   private:
    std::chrono::nanoseconds length_;
  };

  struct Options {
    interval min_report_duration = std::chrono::seconds(30);
    Options& set_min_report_duration(interval duration) { return min_report_duration = duration, *this; }
  };

  /// `recorder` is not null, and outlives the service.
  OrcaService(ServerMetricRecorder* recorder, Options options);
  ~OrcaService() override;

 private:
  std::unique_ptr<coracle::orca_service> answers_;
};

}  // namespace grpc::experimental
