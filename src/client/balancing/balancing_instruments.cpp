#include "client/balancing/balancing_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>

namespace coracle::client {

namespace {

constexpr instrument of_policies(instrument_kind kind, std::string_view name, std::string_view unit,
                                 std::string_view description, label_keys labels, label_keys optional,
                                 std::span<const double> bounds = {}) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = kind,
          .labels = labels,
          .optional_labels = optional,
          .bounds = bounds,
          .on_by_default = false};
}

// gRFC A78 names none: those that OpenTelemetry uses for histograms without.
constexpr std::array<double, 15> usual_bounds{0,   5,   10,   25,   50,   75,   100,  250,
                                              500, 750, 1000, 2500, 5000, 7500, 10000};

constexpr instrument fallback =
    of_policies(instrument_kind::counter, "grpc.lb.wrr.rr_fallback", "{update}",
                "Computations of weights that found too few of them, so that servers are picked in turn.",
                {"grpc.target"}, {"grpc.lb.locality", "grpc.lb.backend_service"});
constexpr instrument not_yet_usable =
    of_policies(instrument_kind::counter, "grpc.lb.wrr.endpoint_weight_not_yet_usable", "{endpoint}",
                "Servers that had no usable weight yet when weights were computed.", {"grpc.target"},
                {"grpc.lb.locality", "grpc.lb.backend_service"});
constexpr instrument stale =
    of_policies(instrument_kind::counter, "grpc.lb.wrr.endpoint_weight_stale", "{endpoint}",
                "Servers whose weight had expired when weights were computed.", {"grpc.target"},
                {"grpc.lb.locality", "grpc.lb.backend_service"});
constexpr instrument computed_weights =
    of_policies(instrument_kind::histogram, "grpc.lb.wrr.endpoint_weights", "{weight}",
                "Weights of servers, each time they were computed; 0 without a usable one.", {"grpc.target"},
                {"grpc.lb.locality", "grpc.lb.backend_service"}, usual_bounds);
constexpr instrument enforced =
    of_policies(instrument_kind::counter, "grpc.lb.outlier_detection.ejections_enforced", "{ejection}",
                "Servers that were ejected because they failed calls.", {"grpc.target"},
                {"grpc.lb.backend_service", "grpc.lb.outlier_detection.detection_method"});
constexpr instrument unenforced =
    of_policies(instrument_kind::counter, "grpc.lb.outlier_detection.ejections_unenforced", "{ejection}",
                "Servers that failed calls, but were not ejected.", {"grpc.target"},
                {"grpc.lb.backend_service", "grpc.lb.outlier_detection.detection_method",
                 "grpc.lb.outlier_detection.unenforced_reason"});

constexpr std::array all_of_balancing{&fallback,         &not_yet_usable, &stale,
                                      &computed_weights, &enforced,       &unenforced};

}  // namespace

std::span<const instrument* const> balancing_instruments() noexcept { return all_of_balancing; }

void measure_weight(std::string_view target, const server_labels& of, double weight) noexcept {
  measure(computed_weights, weight, {target, of.locality, of.backend_service});
}
void measure_weight_not_yet_usable(std::string_view target, const server_labels& of) noexcept {
  measure(not_yet_usable, 1, {target, of.locality, of.backend_service});
}
void measure_weight_stale(std::string_view target, const server_labels& of) noexcept {
  measure(stale, 1, {target, of.locality, of.backend_service});
}
void measure_round_robin_fallback(std::string_view target, const server_labels& of) noexcept {
  measure(fallback, 1, {target, of.locality, of.backend_service});
}
void measure_ejection(std::string_view target, std::string_view service, std::string_view method) noexcept {
  measure(enforced, 1, {target, service, method});
}
void measure_unenforced_ejection(std::string_view target, std::string_view service, std::string_view method,
                                 std::string_view reason) noexcept {
  measure(unenforced, 1, {target, service, method, reason});
}

}  // namespace coracle::client
