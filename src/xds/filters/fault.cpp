#include "rpc/fault_rules.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/filters/known_filters.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/http_filters.pb.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
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

rpc::fault_share share_of(const wire::FractionalPercent& from, const field_path& at) {
  wire::FractionalPercent one = from;
  one.set_numerator(1);
  const std::uint64_t unit = millionths_of(one, at);
  return {from.numerator() * unit, unit};
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
    const filtered_route& of = call.route();
    if (const duration by = rules_.draw_delay(of.sent, of.random); by > duration::zero())
      call.delay(by, [max = active_max_] { return delay_in_progress::begin(max); });
    if (auto outcome = rules_.draw_abort(of.sent, of.random)) call.end(*std::move(outcome));
  }

 private:
  void read_delay(const wire::FaultDelay& from, const field_path& at) {
    if (from.by_case() == wire::FaultDelay::BY_NOT_SET) return;
    auto& rule = rules_.delay.emplace();
    rule.of = share_of(from.percentage(), at.at("percentage"));
    if (from.has_fixed_delay()) rule.fixed = duration_of(from.fixed_delay(), at.at("fixed_delay"));
  }

  void read_abort(const wire::FaultAbort& from, const field_path& at) {
    if (from.by_case() == wire::FaultAbort::BY_NOT_SET) return;
    auto& rule = rules_.abort.emplace();
    rule.of = share_of(from.percentage(), at.at("percentage"));
    switch (from.by_case()) {
      case wire::FaultAbort::kHttpStatus:
        if (!rpc::is_fault_http_status(from.http_status())) at.at("http_status").refuse("must be 200 to 599");
        rule.fixed = rpc::aborted_by_fault(rpc::fault_code_of_http(from.http_status()));
        break;
      case wire::FaultAbort::kGrpcStatus:
        if (from.grpc_status() > rpc::fault_code_max) at.at("grpc_status").refuse("must be at most 16");
        rule.fixed = rpc::aborted_by_fault(static_cast<status_code>(from.grpc_status()));
        break;
      default: break;  // the caller says
    }
  }

  rpc::fault_rules rules_;
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
