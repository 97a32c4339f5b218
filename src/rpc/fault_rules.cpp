#include "rpc/fault_rules.hpp"

#include "protocol/grpc/status_headers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>

namespace coracle::rpc {

namespace {

// A decimal number that a caller has sent, the first if there are several, or nothing.
std::optional<std::uint32_t> number_in(const metadata& sent, std::string_view name) {
  const auto text = sent.find(name);
  if (!text) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::optional<duration> delay_asked(const metadata& sent) {
  const auto milliseconds = number_in(sent, "x-envoy-fault-delay-request");
  if (!milliseconds) return std::nullopt;
  return std::chrono::milliseconds(*milliseconds);
}

// The caller may name a code of HTTP or, if there is none, of gRPC.
std::optional<status> abort_asked(const metadata& sent) {
  if (const auto http = number_in(sent, "x-envoy-fault-abort-request"); http && is_fault_http_status(*http))
    return aborted_by_fault(fault_code_of_http(*http));
  const auto own = number_in(sent, "x-envoy-fault-abort-grpc-request");
  if (own && *own <= fault_code_max) return aborted_by_fault(static_cast<status_code>(*own));
  return std::nullopt;
}

// What the caller asks for comes before what is fixed.
template <class T>
std::optional<T> draw_fault(const std::optional<fault_rule<T>>& rule,
                            std::optional<T> (*asked)(const metadata&), std::string_view percentage,
                            const metadata& sent, const random_below& random) {
  if (!rule) return std::nullopt;
  if (!rule->fixed || rule->by_metadata)
    if (std::optional<T> chosen = asked(sent)) {
      if (rule->of.draw(sent, percentage, random)) return chosen;
      return std::nullopt;
    }
  if (!rule->fixed || !rule->of.draw(sent, {}, random)) return std::nullopt;
  return rule->fixed;
}

}  // namespace

bool fault_share::draw(const metadata& sent, std::string_view percentage, const random_below& random) const {
  std::uint64_t n = millionths;
  if (!percentage.empty())
    if (const auto asked = number_in(sent, percentage)) n = std::min(n, *asked * unit);
  return n >= whole || (n > 0 && random(whole) < n);
}

duration fault_rules::draw_delay(const metadata& sent, const random_below& random) const {
  return draw_fault(delay, delay_asked, "x-envoy-fault-delay-request-percentage", sent, random)
      .value_or(duration::zero());
}

std::optional<status> fault_rules::draw_abort(const metadata& sent, const random_below& random) const {
  return draw_fault(abort, abort_asked, "x-envoy-fault-abort-request-percentage", sent, random);
}

status aborted_by_fault(status_code code) {
  return code == status_code::ok ? status() : status(code, "RPC terminated due to fault injection");
}

status_code fault_code_of_http(std::uint32_t http) {
  return protocol::grpc::from_http_status(static_cast<int>(http));
}

}  // namespace coracle::rpc
