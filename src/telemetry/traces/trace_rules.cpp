#include "telemetry/traces/trace_rules.hpp"

#include "base/trimmed.hpp"
#include "protocol/grpc/header_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace coracle {

namespace {

template <class F>
void for_each_name(std::string_view list, F f) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = base::trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (!name.empty()) f(name);
  }
}

}  // namespace

result<propagator_set> propagator_set::parse(std::string_view names) {
  propagator_set set{.w3c = false};
  std::string unknown;
  for_each_name(names, [&](std::string_view name) {
    if (name == "tracecontext") set.w3c = true;
    else if (name == "b3") set.b3 = true;
    else if (name == "b3multi") set.b3_multi = true;
    else if (name == protocol::grpc::binary_trace_header) set.grpc_trace_bin = true;
    else if (name != "baggage" && name != "none") unknown = name;
  });
  if (unknown.empty()) return set;
  return status::invalid_argument(
      "OTEL_PROPAGATORS has " + unknown +
      ", which is not supported: use tracecontext, baggage, b3, b3multi, none or " +
      std::string(protocol::grpc::binary_trace_header));
}

}  // namespace coracle

namespace coracle::telemetry_internal {

namespace {

std::string_view variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

sampler sampler_of(const trace_options& o, logger& log) {
  const sampler usual = sampler::parent_based(sampler::always_on());
  if (o.sample) return *o.sample;
  const std::string_view name = variable("OTEL_TRACES_SAMPLER");
  if (name.empty()) return usual;
  result<sampler> parsed = sampler::parse(name, variable("OTEL_TRACES_SAMPLER_ARG"));
  if (parsed) return *std::move(parsed);
  log.write(log_level::warning, parsed.status().message());
  return usual;
}

propagator_set propagators_of(const trace_options& o, logger& log) {
  if (o.propagators) return *o.propagators;
  const std::string_view names = variable("OTEL_PROPAGATORS");
  if (names.empty()) return {};
  const result<propagator_set> parsed = propagator_set::parse(names);
  if (parsed) return *parsed;
  log.write(log_level::warning, parsed.status().message());
  return {};
}

}  // namespace

rpc_conventions conventions_of(std::string_view opt_in) noexcept {
  rpc_conventions found = rpc_conventions::grpc;
  for_each_name(opt_in, [&](std::string_view name) {
    if (name == "rpc/dup") found = rpc_conventions::both;
    else if (name == "rpc" && found == rpc_conventions::grpc) found = rpc_conventions::stable;
  });
  return found;
}

span_limits span_limits_of(const std::function<const char*(const char*)>& get, logger& log) {
  span_limits found;
  const auto read = [&](const char* name, std::uint32_t& to) {
    const char* const value = get(name);
    const std::string_view text = value ? value : "";
    if (text.empty()) return;
    std::uint32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error == std::errc() && end == text.data() + text.size()) to = n;
    else
      log.warning("the environment variable ", name, " is ignored: \"", text,
                  "\" is not a whole number from 0 to 4294967295");
  };
  read("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", found.attributes);
  read("OTEL_SPAN_EVENT_COUNT_LIMIT", found.events);
  read("OTEL_SPAN_LINK_COUNT_LIMIT", found.links);
  read("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", found.value_bytes);
  return found;
}

trace_rules::trace_rules(const trace_options& o, logger& log)
    : sample(sampler_of(o, log)),
      by(propagators_of(o, log)),
      conventions(o.conventions.value_or(conventions_of(variable("OTEL_SEMCONV_STABILITY_OPT_IN")))),
      limits(o.limits ? *o.limits : span_limits_of([](const char* name) { return std::getenv(name); }, log)),
      keep_slower_than(o.keep_slower_than),
      keep_errors(o.keep_errors),
      kept_per_second(o.kept_per_second),
      keeps_late(o.keep_errors || o.keep_slower_than != duration::max()) {}

}  // namespace coracle::telemetry_internal
