// OpenTelemetryPluginBuilder: calls in the metrics and traces of a program that uses opentelemetry-cpp.
//
// It needs C++20, the headers of opentelemetry-cpp's API, and coracle::opentelemetry beside coracle::grpcpp.
#pragma once

#include <grpcpp/impl/one_library.h>

#if __cplusplus >= 202002L && __has_include(<coracle/opentelemetry.hpp>) && \
    __has_include(<opentelemetry/metrics/meter_provider.h>)

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/call_observing.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <coracle/opentelemetry.hpp>

#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/metrics/meter_provider.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/tracer_provider.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace grpc {

namespace internal {

// What BuildAndRegisterGlobal() returns: always OK. It converts to absl::Status.
class plugin_status {
 public:
  bool ok() const { return true; }
  std::string_view message() const { return {}; }
  std::string ToString() const { return "OK"; }
  void IgnoreError() const {}
  template <class Status, class Code = decltype(std::declval<const Status&>().code()),
            class = std::enable_if_t<std::is_enum_v<Code>>>
  operator Status() const {
    return Status();
  }
};

// What Build() returns: a plugin, always. It has the functions of absl::StatusOr.
template <class Plugin>
class built_plugin {
 public:
  explicit built_plugin(Plugin made) : made_(std::move(made)) {}
  bool ok() const { return true; }
  plugin_status status() const { return {}; }
  const Plugin& value() const& { return made_; }
  Plugin value() && { return std::move(made_); }
  const Plugin& operator*() const& { return made_; }
  Plugin operator*() && { return std::move(made_); }
  const Plugin* operator->() const { return &made_; }

 private:
  Plugin made_;
};

// Text in any class of strings or views: absl::string_view need not be std::string_view.
template <class Text>
concept text_like = requires(const Text& of) {
  { of.data() } -> std::convertible_to<const char*>;
  { of.size() } -> std::convertible_to<std::size_t>;
};

// The name of an instrument, which outlives it.
class metric_name {
 public:
  metric_name(const char* text) : text_(text) {}
  template <text_like Text>
  metric_name(const Text& text) : text_(text.data(), text.size()) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// Such names: an array, a container, or a list in braces.
class metric_names {
 public:
  metric_names(std::initializer_list<metric_name> all) { add(all); }
  template <class Names>
    requires std::convertible_to<decltype(*std::begin(std::declval<const Names&>())), metric_name>
  metric_names(const Names& all) {
    add(all);
  }
  const std::set<std::string, std::less<>>& all() const { return all_; }

 private:
  template <class Names>
  void add(const Names& names) {
    for (const metric_name name : names) all_.emplace(name.text());
  }
  std::set<std::string, std::less<>> all_;
};

// What a filter of the program gets if it takes another class of views than the standard library's.
class filtered_text {
 public:
  explicit filtered_text(std::string_view text) : text_(text) {}
  template <text_like Text>
    requires std::constructible_from<Text, const char*, std::size_t>
  operator Text() const {
    return Text(text_.data(), text_.size());
  }

 private:
  std::string_view text_;
};

// A function of the program, which may be one that is only moved.
template <class Filter>
std::function<bool(std::string_view)> shared_filter(Filter filter) {
  return [shared = std::make_shared<Filter>(std::move(filter))](std::string_view text) {
    if constexpr (std::is_invocable_v<const Filter&, std::string_view>) return std::as_const(*shared)(text);
    else return std::as_const(*shared)(filtered_text(text));
  };
}

inline std::shared_ptr<const call_observing> observing_by(const coracle::opentelemetry_options& options) {
  const coracle::opentelemetry_bridge bridge(options);
  auto made = std::make_shared<call_observing>();
  made->configure = [bridge](coracle::server& of) { bridge.observe(of); };
  made->observer_of = bridge.channels();
  if (options.tracers) {
    // The current span of the thread that makes a call is the parent of the call's.
    std::shared_ptr<opentelemetry::context::propagation::TextMapPropagator> by = options.propagator;
    if (!by) by = std::make_shared<opentelemetry::trace::propagation::HttpTraceContext>();
    made->add_metadata = [by](coracle::metadata& of_call) {
      const auto here = opentelemetry::context::RuntimeContext::GetCurrent();
      if (!opentelemetry::trace::GetSpan(here)->GetContext().IsValid()) return;
      coracle::opentelemetry_internal::metadata_carrier to(of_call);
      by->Inject(to, here);
    };
  }
  return made;
}

}  // namespace internal

/// Has no use here: there are no options of plugins.
class OpenTelemetryPluginOption {
 public:
  virtual ~OpenTelemetryPluginOption() = default;
};

namespace experimental {

/// A plugin for single channels and servers. Any thread may use it.
class OpenTelemetryPlugin {
 public:
  virtual ~OpenTelemetryPlugin() = default;
  /// Observes the calls of channels that are made with these arguments.
  virtual void AddToChannelArguments(grpc::ChannelArguments* arguments) = 0;
  /// Observes the calls of the servers that the builder makes.
  virtual void AddToServerBuilder(grpc::ServerBuilder* builder) = 0;
};

}  // namespace experimental

namespace internal {

class bridge_plugin final : public experimental::OpenTelemetryPlugin {
 public:
  explicit bridge_plugin(std::shared_ptr<const call_observing> by) : by_(std::move(by)) {}
  void AddToChannelArguments(grpc::ChannelArguments* arguments) override { arguments->observe(by_); }
  void AddToServerBuilder(grpc::ServerBuilder* builder) override { builder->ConfigureServer(by_->configure); }

 private:
  const std::shared_ptr<const call_observing> by_;
};

}  // namespace internal

/// Makes a plugin that measures calls as gRFC A66 describes, and traces them as gRFC A72 does:
///
///   grpc::OpenTelemetryPluginBuilder().SetMeterProvider(provider).BuildAndRegisterGlobal();
///
/// The meter and the tracer are called "grpc-c++", as those of grpc++. Filters run on the threads of the
/// library, several at once, and must not block or throw.
class OpenTelemetryPluginBuilder {
 public:
  static constexpr std::string_view kClientAttemptStartedInstrumentName = "grpc.client.attempt.started";
  static constexpr std::string_view kClientAttemptDurationInstrumentName = "grpc.client.attempt.duration";
  static constexpr std::string_view kClientAttemptSentTotalCompressedMessageSizeInstrumentName =
      "grpc.client.attempt.sent_total_compressed_message_size";
  static constexpr std::string_view kClientAttemptRcvdTotalCompressedMessageSizeInstrumentName =
      "grpc.client.attempt.rcvd_total_compressed_message_size";
  static constexpr std::string_view kServerCallStartedInstrumentName = "grpc.server.call.started";
  static constexpr std::string_view kServerCallDurationInstrumentName = "grpc.server.call.duration";
  static constexpr std::string_view kServerCallSentTotalCompressedMessageSizeInstrumentName =
      "grpc.server.call.sent_total_compressed_message_size";
  static constexpr std::string_view kServerCallRcvdTotalCompressedMessageSizeInstrumentName =
      "grpc.server.call.rcvd_total_compressed_message_size";

  OpenTelemetryPluginBuilder() {
    options_.scope = "grpc-c++";
    options_.scope_version = Version();
  }
  OpenTelemetryPluginBuilder(const OpenTelemetryPluginBuilder&) = delete;
  OpenTelemetryPluginBuilder& operator=(const OpenTelemetryPluginBuilder&) = delete;

  /// Without it, nothing is measured.
  OpenTelemetryPluginBuilder& SetMeterProvider(
      std::shared_ptr<opentelemetry::metrics::MeterProvider> provider) {
    return options_.meters = std::move(provider), *this;
  }
  /// Without it, nothing is traced.
  OpenTelemetryPluginBuilder& SetTracerProvider(
      std::shared_ptr<opentelemetry::trace::TracerProvider> provider) {
    return options_.tracers = std::move(provider), *this;
  }
  /// How the server learns of the trace of a call. Default: W3C's traceparent and tracestate.
  OpenTelemetryPluginBuilder& SetTextMapPropagator(
      std::unique_ptr<opentelemetry::context::propagation::TextMapPropagator> propagator) {
    return options_.propagator = std::move(propagator), *this;
  }
  /// Returns one that sends grpc-trace-bin.
  static std::unique_ptr<opentelemetry::context::propagation::TextMapPropagator>
  MakeGrpcTraceBinTextMapPropagator() {
    return std::make_unique<coracle::trace_bin_propagator>();
  }

  /// Turn instruments on and off by their names; names that the library does not have are ignored. Default:
  /// the eight above and grpc.client.call.duration are on.
  OpenTelemetryPluginBuilder& EnableMetrics(const internal::metric_names& names) {
    for (const std::string& name : names.all()) options_.disabled.erase(name);
    return *this;
  }
  OpenTelemetryPluginBuilder& DisableMetrics(const internal::metric_names& names) {
    return options_.disabled.insert(names.all().begin(), names.all().end()), *this;
  }
  OpenTelemetryPluginBuilder& DisableAllMetrics() {
    return DisableMetrics({kClientAttemptStartedInstrumentName, kClientAttemptDurationInstrumentName,
                           kClientAttemptSentTotalCompressedMessageSizeInstrumentName,
                           kClientAttemptRcvdTotalCompressedMessageSizeInstrumentName,
                           "grpc.client.call.duration", kServerCallStartedInstrumentName,
                           kServerCallDurationInstrumentName,
                           kServerCallSentTotalCompressedMessageSizeInstrumentName,
                           kServerCallRcvdTotalCompressedMessageSizeInstrumentName});
  }
  /// Whether the target of a channel is reported; the others are "other". Default: all are.
  template <class Filter>
  OpenTelemetryPluginBuilder& SetTargetAttributeFilter(Filter filter) {
    return options_.reports_target = internal::shared_filter(std::move(filter)), *this;
  }
  /// Whether the name of a method of a generic stub or service is reported; the others are "other". Default:
  /// none is. The name is "package.Service/Method".
  template <class Filter>
  OpenTelemetryPluginBuilder& SetGenericMethodAttributeFilter(Filter filter) {
    return options_.reports_method = internal::shared_filter(std::move(filter)), *this;
  }
  /// "grpc.client.call.custom" is empty here, and the other keys have no value in these metrics.
  OpenTelemetryPluginBuilder& AddOptionalLabel(std::string_view key) {
    return options_.custom_label |= key == "grpc.client.call.custom", *this;
  }
  template <class Option>
  OpenTelemetryPluginBuilder& AddPluginOption(Option /*option*/) {
    static_assert(
        !internal::is_missing<Option>,
        "coracle::grpcpp: there are no options of plugins: remove the call, and name the service in the "
        "resource of the MeterProvider");
    return *this;
  }
  template <class Filter>
  OpenTelemetryPluginBuilder& SetChannelScopeFilter(Filter /*filter*/) {
    static_assert(
        !internal::is_missing<Filter>,
        "coracle::grpcpp: there are no scopes of channels: Build(), and AddToChannelArguments() for the "
        "channels to observe");
    return *this;
  }

  /// Observes all servers and channels that the process makes from now on. Call it at most once, and not
  /// after Build(). Returns OK, in an object that converts to absl::Status.
  internal::plugin_status BuildAndRegisterGlobal() {
    internal::observe_all(internal::observing_by(options_));
    return {};
  }
  /// Returns the plugin, in an object with the functions of absl::StatusOr:
  ///
  ///   auto plugin = builder.Build();
  ///   plugin.value()->AddToServerBuilder(&server_builder);
  [[nodiscard]] internal::built_plugin<std::shared_ptr<experimental::OpenTelemetryPlugin>> Build() {
    using plugin = std::shared_ptr<experimental::OpenTelemetryPlugin>;
    return internal::built_plugin<plugin>(
        std::make_shared<internal::bridge_plugin>(internal::observing_by(options_)));
  }

 private:
  coracle::opentelemetry_options options_;
};

namespace experimental {
using OpenTelemetryPluginBuilder = grpc::OpenTelemetryPluginBuilder;
}  // namespace experimental

}  // namespace grpc

#else

namespace grpc {

class CORACLE_GRPCPP_ABSENT(
    "this header needs C++20 and opentelemetry-cpp: use both, and link coracle::opentelemetry")
    OpenTelemetryPluginBuilder;
class CORACLE_GRPCPP_ABSENT(
    "this header needs C++20 and opentelemetry-cpp: use both, and link coracle::opentelemetry")
    OpenTelemetryPluginOption;

namespace experimental {

class CORACLE_GRPCPP_ABSENT(
    "this header needs C++20 and opentelemetry-cpp: use both, and link coracle::opentelemetry")
    OpenTelemetryPlugin;

}  // namespace experimental
}  // namespace grpc

#endif
