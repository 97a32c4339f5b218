#include "protocol/grpc/status_headers.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/filters/known_filters.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/http_filters.pb.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace coracle::xds {

namespace {

// Of the process, all filters together.
std::atomic<std::uint32_t> delays_in_progress{0};

class delay_in_progress {
 public:
  // Null: there are as many as there may be.
  static std::shared_ptr<const void> begin(std::optional<std::uint32_t> max) {
    auto made = std::make_shared<const delay_in_progress>();
    return made->before_ < max.value_or(std::numeric_limits<std::uint32_t>::max()) ? made : nullptr;
  }
  delay_in_progress() noexcept : before_(delays_in_progress.fetch_add(1, std::memory_order_relaxed)) {}
  ~delay_in_progress() { delays_in_progress.fetch_sub(1, std::memory_order_relaxed); }
  delay_in_progress(const delay_in_progress&) = delete;
  delay_in_progress& operator=(const delay_in_progress&) = delete;

 private:
  const std::uint32_t before_;
};

// A decimal number that a caller has sent, the first if there are several, or nothing.
std::optional<std::uint32_t> number_in(const metadata& sent, std::string_view name) {
  const auto text = sent.find(name);
  if (!text) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// Of calls. The caller may ask for fewer.
struct share_of_calls {
  std::uint32_t numerator = 0;
  std::uint64_t unit = 0;  // millionths

  [[nodiscard]] bool draw(const filtered_route& of, std::string_view percentage_header) const {
    std::uint32_t n = numerator;
    if (!percentage_header.empty())
      if (const auto asked = number_in(of.sent, percentage_header)) n = std::min(n, *asked);
    const std::uint64_t millionths = n * unit;
    return millionths >= million || (millionths > 0 && of.random(million) < millionths);
  }
};

share_of_calls share_of(const wire::FractionalPercent& from, const field_path& at) {
  wire::FractionalPercent one = from;
  one.set_numerator(1);
  return {from.numerator(), millionths_of(one, at)};
}

struct delay_rule {
  std::optional<duration> fixed;  // nothing: the caller says
  share_of_calls of;
};

struct abort_rule {
  std::optional<status> fixed;
  share_of_calls of;
};

status aborted(status_code code) {
  return code == status_code::ok ? status() : status(code, "RPC terminated due to fault injection");
}

class fault final : public filter {
 public:
  explicit fault(const wire::HttpFault& from, const field_path& at) {
    if (from.has_max_active_faults()) active_max_ = from.max_active_faults().value();
    if (from.has_delay()) read_delay(from.delay(), at.at("delay"));
    if (from.has_abort()) read_abort(from.abort(), at.at("abort"));
  }

  void begin_call(filtered_call& call) const override {
    if (active_max_ && delays_in_progress.load(std::memory_order_relaxed) >= *active_max_) return;
    if (const duration by = delay_of(call.route()); by > duration::zero())
      call.delay(by, [max = active_max_] { return delay_in_progress::begin(max); });
    if (auto outcome = abort_of(call.route())) call.end(*std::move(outcome));
  }

 private:
  void read_delay(const wire::FaultDelay& from, const field_path& at) {
    if (from.by_case() == wire::FaultDelay::BY_NOT_SET) return;
    delay_.emplace();
    delay_->of = share_of(from.percentage(), at.at("percentage"));
    if (from.has_fixed_delay()) delay_->fixed = duration_of(from.fixed_delay(), at.at("fixed_delay"));
  }

  void read_abort(const wire::FaultAbort& from, const field_path& at) {
    constexpr std::uint32_t http_min = 200;
    constexpr std::uint32_t http_end = 600;
    if (from.by_case() == wire::FaultAbort::BY_NOT_SET) return;
    abort_.emplace();
    abort_->of = share_of(from.percentage(), at.at("percentage"));
    switch (from.by_case()) {
      case wire::FaultAbort::kHttpStatus:
        if (from.http_status() < http_min || from.http_status() >= http_end)
          at.at("http_status").refuse("must be 200 to 599");
        abort_->fixed = aborted(code_of_http(from.http_status()));
        break;
      case wire::FaultAbort::kGrpcStatus:
        if (from.grpc_status() > code_max) at.at("grpc_status").refuse("must be at most 16");
        abort_->fixed = aborted(static_cast<status_code>(from.grpc_status()));
        break;
      default: break;  // the caller says
    }
  }

  static constexpr std::uint32_t code_max = 16;

  // 200 is UNKNOWN: an answer without a status.
  static status_code code_of_http(std::uint32_t http) {
    return protocol::grpc::from_http_status(static_cast<int>(http));
  }

  [[nodiscard]] duration delay_of(const filtered_route& of) const {
    if (!delay_) return {};
    if (delay_->fixed) return delay_->of.draw(of, {}) ? *delay_->fixed : duration::zero();
    const auto milliseconds = number_in(of.sent, "x-envoy-fault-delay-request");
    if (!milliseconds || !delay_->of.draw(of, "x-envoy-fault-delay-request-percentage")) return {};
    return std::chrono::milliseconds(*milliseconds);
  }

  // The caller may name a code of HTTP or, if there is none, of gRPC.
  [[nodiscard]] std::optional<status> abort_of(const filtered_route& of) const {
    if (!abort_) return std::nullopt;
    if (abort_->fixed) return abort_->of.draw(of, {}) ? abort_->fixed : std::nullopt;
    std::optional<status_code> code;
    const auto own = number_in(of.sent, "x-envoy-fault-abort-grpc-request");
    if (const auto http = number_in(of.sent, "x-envoy-fault-abort-request");
        http && *http >= 200 && *http < 600)
      code = code_of_http(*http);
    else if (own && *own <= code_max) code = static_cast<status_code>(*own);
    if (!code || !abort_->of.draw(of, "x-envoy-fault-abort-request-percentage")) return std::nullopt;
    return aborted(*code);
  }

  std::optional<delay_rule> delay_;
  std::optional<abort_rule> abort_;
  std::optional<std::uint32_t> active_max_;
};

class fault_type final : public filter_type {
 public:
  fault_type() noexcept : filter_type(side::clients) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.fault.v3.HTTPFault";
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader&,
                                                   const field_path& at) const override {
    return std::make_shared<const fault>(parsed<wire::HttpFault>(from, at), at);
  }
};

}  // namespace

std::shared_ptr<const filter_type> fault_filter() { return std::make_shared<const fault_type>(); }

}  // namespace coracle::xds
