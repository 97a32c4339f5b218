// opentelemetry_bridge: calls in the metrics and traces of a program that uses opentelemetry-cpp.
#pragma once

#include "coracle/client/observe_channels.hpp"
#include "coracle/opentelemetry/bridge_core.hpp"
#include "coracle/opentelemetry/channel_calls.hpp"
#include "coracle/opentelemetry/options.hpp"
#include "coracle/opentelemetry/served_calls.hpp"
#include "coracle/server/server.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace coracle {

/// Records the calls of servers and channels with the providers of opentelemetry-cpp that the program has:
///
///   coracle::opentelemetry_options options;
///   options.meters = provider;  // a std::shared_ptr<opentelemetry::metrics::MeterProvider>
///   const coracle::opentelemetry_bridge bridge(options);
///   bridge.observe(server);   // before it listens
///   bridge.observe(runtime);  // before its channels are made
///
/// Metrics have the names, units and labels of gRFC A66, spans the names and events of gRFC A72. A span of a
/// server is the parent of the calls that its handler makes; a span of a client that has no such call is
/// below the one of the metadata that the program gives to the call.
///
/// Any thread may use it. What it observes keeps the providers: shut them down after the servers and
/// runtimes. Do not trace a server or channel with coracle::telemetry, too: each of the two would name its
/// own span as the parent.
class opentelemetry_bridge {
 public:
  /// Makes the instruments of the enabled names.
  explicit opentelemetry_bridge(opentelemetry_options options)
      : core_(std::make_shared<const opentelemetry_internal::bridge_core>(std::move(options))) {}

  /// Observes the calls of a server. Call it before the first listen() or in_process().
  void observe(server& of) const { of.add_observer(server_calls()); }
  /// Observes the calls of each channel that is made on the runtime from now on.
  void observe(runtime& of) const { observe_channels(of, channels()); }
  /// Returns an observer for one server, as server_options::observer.
  [[nodiscard]] std::shared_ptr<server_observer> server_calls() const {
    return std::make_shared<opentelemetry_internal::served_calls>(core_);
  }
  /// Returns an observer for channels to one target, as channel_options::observer. `target` is copied.
  [[nodiscard]] std::shared_ptr<client_observer> channel_calls(std::string_view target) const {
    return std::make_shared<opentelemetry_internal::channel_calls>(core_, target);
  }
  /// Returns what makes such observers, for observe_channels() and channel_options::observer_factories.
  [[nodiscard]] channel_observer_factory channels() const {
    return [core = core_](std::string_view target) -> std::shared_ptr<client_observer> {
      return std::make_shared<opentelemetry_internal::channel_calls>(core, target);
    };
  }

 private:
  std::shared_ptr<const opentelemetry_internal::bridge_core> core_;
};

}  // namespace coracle
