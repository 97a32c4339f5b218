#include "sim/swarm/policies.hpp"

#include <chrono>
#include <string>

namespace coracle::swarm {

namespace {

std::string seconds(duration d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count() + 1;
  std::string fraction = std::to_string(1000 + ms % 1000);
  fraction.front() = '.';
  return "\"" + std::to_string(ms / 1000) + fraction + "s\"";
}

std::string draw_policy(dice& d, attempt_rules& rules) {
  using namespace std::chrono_literals;
  rules.most = static_cast<int>(d.between(2, 5));
  const std::string attempts = R"("maxAttempts":)" + std::to_string(rules.most);
  rules.hedged = d.one_in(2);
  if (rules.hedged) {
    // One draw a statement: the order of operands is the compiler's.
    const std::string delay = seconds(d.up_to(2s));
    return R"("hedgingPolicy":{)" + attempts + R"(,"hedgingDelay":)" + delay +
           (d.one_in(2) ? R"(,"nonFatalStatusCodes":["UNAVAILABLE"]})" : "}");
  }
  const std::string first = seconds(d.up_to(1s));
  return R"("retryPolicy":{)" + attempts + R"(,"initialBackoff":)" + first + R"(,"maxBackoff":)" +
         seconds(d.up_to(10s)) + R"(,"backoffMultiplier":1.6,"retryableStatusCodes":["UNAVAILABLE"]})";
}

}  // namespace

drawn_policies draw_policies(run& r, dice& d) {
  drawn_policies drawn;
  std::string json = R"({"methodConfig":[{"name":[{}],)" + draw_policy(d, drawn.rules) + "}]";
  if (d.one_in(3)) {
    drawn.rules.tokens = static_cast<int>(d.between(1, 20));
    json +=
        R"(,"retryThrottling":{"maxTokens":)" + std::to_string(drawn.rules.tokens) + R"(,"tokenRatio":0.5})";
  }
  auto parsed = service_config::parse(json + "}");
  if (parsed) drawn.config = *std::move(parsed);
  else r.report_error(parsed.status().to_string());
  return drawn;
}

}  // namespace coracle::swarm
