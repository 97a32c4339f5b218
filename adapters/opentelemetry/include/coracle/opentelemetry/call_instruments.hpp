// call_instruments: the instruments of gRFC A66 in a MeterProvider.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/version.hpp"
#include "coracle/opentelemetry/metadata_carrier.hpp"
#include "coracle/rpc/call_traffic.hpp"

#include <opentelemetry/common/key_value_iterable.h>
#include <opentelemetry/context/context.h>
#include <opentelemetry/metrics/meter.h>
#include <opentelemetry/metrics/meter_provider.h>
#include <opentelemetry/metrics/sync_instruments.h>
#include <opentelemetry/nostd/unique_ptr.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::opentelemetry_internal {

// What one measurement is about, on the stack: text that outlives it.
class call_labels final : public ::opentelemetry::common::KeyValueIterable {
 public:
  call_labels& add(std::string_view key, std::string_view value) noexcept {
    if (size_ < all_.size()) all_[size_++] = {key, value};
    return *this;
  }
  bool ForEachKeyValue(nostd::function_ref<bool(nostd::string_view, ::opentelemetry::common::AttributeValue)>
                           visit) const noexcept override {
    for (std::size_t i = 0; i < size_; ++i)
      if (!visit(text(all_[i].first), text(all_[i].second))) return false;
    return true;
  }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }

 private:
  std::array<std::pair<std::string_view, std::string_view>, 4> all_;
  std::size_t size_ = 0;
};

// Those of one side; one that is disabled is null. Any thread.
class call_instruments {
 public:
  using names = std::set<std::string, std::less<>>;
  using context = ::opentelemetry::context::Context;

  // The name of the counter, and what comes before "duration" and its neighbours.
  call_instruments(::opentelemetry::metrics::Meter& by, const names& disabled, const std::string& prefix,
                   const char* unit) {
    const auto wanted = [&](const std::string& name) { return !disabled.contains(name); };
    if (const std::string name = prefix + ".started"; wanted(name))
      started_ = by.CreateUInt64Counter(name, "Calls or attempts that have begun.", unit);
    if (const std::string name = prefix + ".duration"; wanted(name))
      duration_ = by.CreateDoubleHistogram(name, "From the beginning to the end.", "s");
    if (const std::string name = prefix + ".sent_total_compressed_message_size"; wanted(name))
      sent_ = by.CreateUInt64Histogram(name, "Messages sent, without metadata and framing.", "By");
    if (const std::string name = prefix + ".rcvd_total_compressed_message_size"; wanted(name))
      received_ = by.CreateUInt64Histogram(name, "Messages received, without metadata and framing.", "By");
  }

  void begin(const call_labels& of) const noexcept {
    if (started_) started_->Add(1, of);
  }
  void end(const call_labels& of, duration took, const call_traffic& t, const context& in) const noexcept {
    if (duration_) duration_->Record(std::chrono::duration<double>(took).count(), of, in);
    if (sent_) sent_->Record(t.bytes_sent, of, in);
    if (received_) received_->Record(t.bytes_received, of, in);
  }

 private:
  nostd::unique_ptr<::opentelemetry::metrics::Counter<std::uint64_t>> started_;
  nostd::unique_ptr<::opentelemetry::metrics::Histogram<double>> duration_;
  nostd::unique_ptr<::opentelemetry::metrics::Histogram<std::uint64_t>> sent_;
  nostd::unique_ptr<::opentelemetry::metrics::Histogram<std::uint64_t>> received_;
};

}  // namespace coracle::opentelemetry_internal
