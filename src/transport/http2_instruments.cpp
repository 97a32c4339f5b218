#include "transport/http2_instruments.hpp"

#include <array>
#include <string_view>

namespace coracle::transport {

namespace {

constexpr label_keys of_frames{"network.io.direction", "coracle.http2.code"};

constexpr instrument goaways{.name = "coracle.http2.goaways",
                             .description = "GOAWAY frames, which end connections.",
                             .unit = "{frame}",
                             .kind = instrument_kind::counter,
                             .labels = of_frames,
                             .optional_labels = {},
                             .bounds = {}};
constexpr instrument resets{.name = "coracle.http2.resets",
                            .description = "RST_STREAM frames, which end calls.",
                            .unit = "{frame}",
                            .kind = instrument_kind::counter,
                            .labels = of_frames,
                            .optional_labels = {},
                            .bounds = {}};
constexpr instrument deferred{
    .name = "coracle.decode.deferrals",
    .description = "Times that input waited for a later iteration of its loop to be decoded.",
    .unit = "{deferral}",
    .kind = instrument_kind::counter,
    .labels = {},
    .optional_labels = {},
    .bounds = {}};

constexpr std::array all_of_http2{&goaways, &resets, &deferred};

void report_codes(const instrument& by, std::string_view direction,
                  const http2::error_counts::by_code& counts, metrics_sink& to) noexcept {
  for (std::uint32_t code = 0; code < http2::error_counts::by_code::codes; ++code) {
    if (counts.of(code) == 0) continue;
    const std::array<std::string_view, 2> labels{direction, name_of(static_cast<http2::error_code>(code))};
    to.measure(by, static_cast<double>(counts.of(code)), labels);
  }
}

}  // namespace

std::span<const instrument* const> http2_instruments() noexcept { return all_of_http2; }

connection_counts& connection_counts::here() {
  coro::executor& current = coro::this_executor();
  auto& counts = current.local<connection_counts>();
  if (!counts.linked()) current.add_metrics(counts);
  return counts;
}

void connection_counts::report(metrics_sink& to) const noexcept {
  report_codes(goaways, "transmit", errors.goaways_sent, to);
  report_codes(goaways, "receive", errors.goaways_received, to);
  report_codes(resets, "transmit", errors.resets_sent, to);
  report_codes(resets, "receive", errors.resets_received, to);
  to.measure(deferred, static_cast<double>(deferrals), {});
}

}  // namespace coracle::transport
