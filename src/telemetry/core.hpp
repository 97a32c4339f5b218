// core: the telemetry of one runtime, which its handles share.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/telemetry/metrics_snapshot.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "runtime/loop_service.hpp"
#include "runtime/runtime_core.hpp"
#include "telemetry/loop_part.hpp"
#include "telemetry/metrics/selection.hpp"
#include "telemetry/traces/span_sinks.hpp"
#include "telemetry/used_certificates.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace coracle {
class client_observer;
class server;
}  // namespace coracle

namespace coracle::telemetry_internal {

// Something that works for the telemetry of a runtime until that ends: an exporter.
class attachment {
 public:
  attachment(const attachment&) = delete;
  attachment& operator=(const attachment&) = delete;
  virtual ~attachment() = default;
  // Measures the totals of the attachment's own instruments into `to`, whenever metrics are asked for. Any
  // thread.
  virtual void report(metrics_sink& to) const noexcept = 0;
  // The runtime ends: its loops have nothing left to do, and metrics() has what they did. Runs once, on the
  // thread of the runtime's destructor, which it may block for a bounded time.
  virtual void runtime_ended() noexcept = 0;

 protected:
  attachment() noexcept = default;
};

// The observers refer to it, and the loops' parts own it together with the handles.
class core final : public std::enable_shared_from_this<core> {
 public:
  core(runtime& on, const telemetry_options& o);
  // Returns the telemetry of a runtime; the first call makes it.
  static std::shared_ptr<core> of(runtime& on, const telemetry_options& o);

  void observe(server& which);
  // The server has ended; another one may get its address.
  void forget(const server* which) noexcept;
  [[nodiscard]] task<metrics_snapshot> metrics();
  void add_gauge(const instrument& what, std::function<double()> read);
  // Keeps it until the runtime ends. It may refer to this object.
  void attach(std::shared_ptr<attachment> a);
  void runtime_ended() noexcept;
  void trace(const trace_options& o);
  [[nodiscard]] task<> flush_spans();
  [[nodiscard]] const std::shared_ptr<span_sinks>& sinks() const noexcept { return sinks_; }

  [[nodiscard]] const telemetry_options& options() const noexcept { return options_; }
  [[nodiscard]] const selection& selected() const noexcept { return selected_; }
  [[nodiscard]] runtime& owner() const noexcept { return owner_; }
  // Those of the runtime's servers and channels.
  [[nodiscard]] const used_certificates& certificates() const noexcept { return certificates_; }
  // Whether calls are told apart by call_options::telemetry_label.
  [[nodiscard]] bool reports_custom_label() const noexcept { return custom_label_; }
  // Whether attempts are told apart by where their server belongs.
  [[nodiscard]] bool reports_locality() const noexcept { return locality_label_; }
  [[nodiscard]] bool reports_service() const noexcept { return service_label_; }
  // When it began to measure.
  [[nodiscard]] std::chrono::system_clock::time_point started() const noexcept { return start_; }
  // The part of the current loop; null once the loop shuts down.
  [[nodiscard]] loop_part* part_of(const loop& here) const noexcept { return parts_[here.index()]; }
  // The calls of the current loop.
  [[nodiscard]] call_series& calls_of(const loop& here) const noexcept { return *calls_[here.index()]; }
  // The tracer of the current loop; null if it records no traces.
  [[nodiscard]] tracer* traces_here() const noexcept { return *traces_of(*loop::current()); }
  // Where traces_here() finds it.
  [[nodiscard]] tracer* const* traces_of(const loop& where) const noexcept {
    return &tracers_[where.index()];
  }

 private:
  friend class loop_part;
  void start();
  // What a loop that has ended did.
  [[nodiscard]] loop_copy last_of(std::size_t loop) const;
  void keep_last(std::size_t loop, loop_copy c) noexcept;
  // Runs f on each loop that has a part, and returns when all have done it.
  template <class F>
  task<> on_each_loop(F f);
  [[nodiscard]] std::shared_ptr<client_observer> observer_of(std::string_view target);

  runtime& owner_;
  const telemetry_options options_;
  const selection selected_;
  const bool custom_label_;
  const bool locality_label_;
  const bool service_label_;
  const used_certificates certificates_;
  std::vector<std::unique_ptr<call_series>> calls_;  // by loop; each entry is used only on its loop
  std::vector<tracer*> tracers_;  // by loop, as parts_
  std::vector<loop_part*> parts_;  // by loop; each entry is used only on its loop
  std::vector<std::shared_ptr<runtime_internal::loop_service_handle>> handles_;
  const std::chrono::system_clock::time_point start_;
  const std::shared_ptr<span_sinks> sinks_ = std::make_shared<span_sinks>();

  mutable std::mutex mutex_;  // guards what follows
  std::unordered_set<const void*> observed_;  // servers
  std::unordered_map<std::string, std::weak_ptr<client_observer>> by_target_;
  std::vector<std::pair<const instrument*, std::function<double()>>> gauges_;
  std::vector<std::shared_ptr<attachment>> attachments_;
  std::vector<loop_copy> last_;  // by loop: what those that have ended did
};

}  // namespace coracle::telemetry_internal
