// call_series: the time series of calls on one loop, by method and status (gRFC A66).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/server_labels.hpp"
#include "telemetry/metrics/exponential_histogram.hpp"
#include "telemetry/metrics/histogram.hpp"
#include "telemetry/metrics/method_costs.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::telemetry_internal {

inline constexpr std::size_t status_codes = 32;  // 17, and a power of two so that an index needs no check

// The name of all methods that no service has (gRFC A66).
inline constexpr std::string_view other_method = "other";

// The label whose value is call_options::telemetry_label (gRFC A108).
inline constexpr std::string_view custom_label_key = "grpc.client.call.custom";
// Those whose values are in server_labels (gRFC A78, A89).
inline constexpr std::string_view locality_label_key = "grpc.lb.locality";
inline constexpr std::string_view service_label_key = "grpc.lb.backend_service";

// What an ended call that has a span is counted with.
struct call_sizes {
  std::uint64_t duration_ns = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

// The latest call in each bucket that has a span; of those that have none the trace id is zero.
struct call_exemplars {
  std::array<metric_exemplar, latency_bounds_s.size() + 1> duration;
  std::array<metric_exemplar, size_bounds_bytes.size() + 1> sent;
  std::array<metric_exemplar, size_bounds_bytes.size() + 1> received;
};

// Calls or attempts that ended with one status.
class call_histograms {
 public:
  explicit call_histograms(bool exponential)
      : exponential_(exponential ? std::make_unique<std::array<exponential_histogram, 3>>() : nullptr) {}
  call_histograms(const call_histograms& o)
      : duration_(o.duration_),
        sent_(o.sent_),
        received_(o.received_),
        exponential_(o.exponential_ ? std::make_unique<std::array<exponential_histogram, 3>>(*o.exponential_)
                                    : nullptr),
        exemplars_(o.exemplars_ ? std::make_unique<call_exemplars>(*o.exemplars_) : nullptr) {}
  call_histograms& operator=(const call_histograms&) = delete;

  [[gnu::always_inline]] void add(std::uint64_t duration_ns, std::uint64_t sent_bytes,
                                  std::uint64_t received_bytes) noexcept {
    duration_.add(latency_bucket(duration_ns), duration_ns);
    sent_.add(size_bucket(sent_bytes), sent_bytes);
    received_.add(size_bucket(received_bytes), received_bytes);
  }
  // Only if it is exponential.
  void add_exponential(std::uint64_t duration_ns, std::uint64_t sent_bytes,
                       std::uint64_t received_bytes) noexcept;
  // Keeps the trace, span and time of `e` as an example of the call. Without memory, there is none.
  void keep(const call_sizes& c, const metric_exemplar& e) noexcept;
  // Throws std::bad_alloc.
  void add(const call_histograms& o);

  [[nodiscard]] histogram_data duration() const { return with(0, duration_.data(1e-9)); }
  [[nodiscard]] histogram_data sent() const { return with(1, sent_.data(1)); }
  [[nodiscard]] histogram_data received() const { return with(2, received_.data(1)); }
  // In the order of the buckets; empty if no call had a span.
  [[nodiscard]] std::vector<metric_exemplar> duration_exemplars() const;
  [[nodiscard]] std::vector<metric_exemplar> sent_exemplars() const;
  [[nodiscard]] std::vector<metric_exemplar> received_exemplars() const;

 private:
  [[nodiscard]] histogram_data with(std::size_t i, histogram_data d) const;

  latency_histogram duration_;
  size_histogram sent_;
  size_histogram received_;
  std::unique_ptr<std::array<exponential_histogram, 3>> exponential_;  // in the order of the members above
  std::unique_ptr<call_exemplars> exemplars_;  // null until a call has a span
};

// The name under which calls are reported; shared between loops, and never changed.
struct call_key {
  bool client = false;
  std::string target;  // of a client
  std::string method;  // "package.Service/Method", or "other"
  std::string custom;  // of a client: the value of custom_label_key
  server_labels
      server;  // of attempts on a server that a control plane has named, if these labels are reported
  [[nodiscard]] bool operator==(const call_key&) const = default;
};

// The calls of one method on one loop.
struct method_calls {
  call_key key;
  std::chrono::system_clock::time_point start{};  // when the first call began
  std::uint64_t started = 0;  // calls of a server, attempts of a client
  std::array<std::unique_ptr<call_histograms>, status_codes> ended;  // the same, by status
  // Calls of a client as its program sees them; only their duration is used.
  std::array<std::unique_ptr<call_histograms>, status_codes> client_calls;
  method_costs costs;  // of calls of a server

  method_calls() = default;
  method_calls(const method_calls& o);
  method_calls& operator=(const method_calls&) = delete;
  method_calls(method_calls&&) noexcept = default;
  method_calls& operator=(method_calls&&) noexcept = default;
  // Throws std::bad_alloc.
  void add(const method_calls& o);
};

// For one loop.
class call_series {
 public:
  call_series(std::size_t series_max, bool exponential,
              const std::function<bool(std::string_view)>& admits) noexcept
      : methods_max_(series_max), exponential_(exponential), admits_(admits) {}

  // Returns the calls of a method, whose path is "/package.Service/Method". `target` is empty for a server.
  // `custom` is cut to 256 bytes. Valid as long as this. Without memory it returns null. Attempts on servers
  // with labels are told apart by them.
  [[nodiscard]] method_calls* find(bool client, std::string_view target, std::string_view path,
                                   bool registered, std::chrono::system_clock::time_point now,
                                   std::string_view custom = {},
                                   const server_labels* server = nullptr) noexcept;
  // Counts a call or an attempt in one of the arrays of its method. Without memory, it is not counted.
  [[gnu::always_inline]] void count(std::array<std::unique_ptr<call_histograms>, status_codes>& by_status,
                                    status_code code, duration took, std::uint64_t sent_bytes,
                                    std::uint64_t received_bytes) noexcept {
    auto& at = by_status[static_cast<std::size_t>(code) % status_codes];
    const auto duration_ns = static_cast<std::uint64_t>(took.count());  // of a clock that never goes back
    if (!at || exponential_) [[unlikely]]
      return count_rarely(at, duration_ns, sent_bytes, received_bytes);
    at->add(duration_ns, sent_bytes, received_bytes);
  }
  // The same for a call that has a span.
  void count(std::array<std::unique_ptr<call_histograms>, status_codes>& by_status, status_code code,
             const call_sizes& c, const metric_exemplar& e) noexcept {
    auto& at = by_status[static_cast<std::size_t>(code) % status_codes];
    count_rarely(at, c.duration_ns, c.sent_bytes, c.received_bytes);
    if (at) at->keep(c, e);
  }
  // Returns how many calls and attempts were counted without their labels, or as "other", because of the
  // limit.
  [[nodiscard]] std::uint64_t folded() const noexcept { return folded_; }
  // Throws std::bad_alloc.
  [[nodiscard]] std::vector<method_calls> copies() const;

 private:
  // The first call with a status, and exponential histograms.
  [[gnu::noinline]] void count_rarely(std::unique_ptr<call_histograms>& at, std::uint64_t duration_ns,
                                      std::uint64_t sent_bytes, std::uint64_t received_bytes) const noexcept;

  const std::size_t methods_max_;
  const bool exponential_;
  const std::function<bool(std::string_view)>& admits_;
  std::uint64_t folded_ = 0;
  std::string key_;  // kept, so that a lookup allocates nothing
  std::unordered_map<std::string, std::unique_ptr<method_calls>> all_;
};

}  // namespace coracle::telemetry_internal
