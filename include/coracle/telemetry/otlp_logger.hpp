// otlp_logger: a logger whose lines go to an OpenTelemetry collector.
#pragma once

#include "coracle/base/log.hpp"

#include <memory>

namespace coracle {

/// @cond
namespace telemetry_internal {
class log_outlet;  // private: src/telemetry/otlp/log_outlet.hpp
}
/// @endcond

/// Exports log lines by OTLP. Make it the log of a runtime, alone or as a part of a fan_out_logger; the
/// exporters of that runtime find it there:
///
///   coracle::otlp_logger exported;
///   coracle::fan_out_logger both({&coracle::stderr_logger(), &exported});
///   coracle::runtime runtime({.log = &both});
///   coracle::server server(runtime);
///   coracle::with_otlp(server);
///
/// A line becomes a log record with its severity, its text as the body, its fields and its room
/// (`coracle.room`) as attributes, and the ids of its trace. A text is cut after 2,048 bytes, a value after
/// 512 and a key after 64; fields that exceed 4,096 bytes in all are left out and counted in the record.
///
/// Lines wait in the queue of otlp_options::logs_batching; what exceeds it is dropped and counted in
/// coracle.telemetry.lost. Until there is an exporter, the first 2,048 lines are kept for it. An exporter's
/// own lines, such as that the collector does not answer, are not exported, but go to the other loggers.
class otlp_logger final : public record_logger {
 public:
  /// Its minimum level is info in all rooms.
  otlp_logger();
  ~otlp_logger() override;

  /// @cond  For exporters.
  [[nodiscard]] telemetry_internal::log_outlet& internals() noexcept { return *outlet_; }
  /// @endcond

 protected:
  void accept(const log_record& line) noexcept override;

 private:
  const std::unique_ptr<telemetry_internal::log_outlet> outlet_;
};

}  // namespace coracle
