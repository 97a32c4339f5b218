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

std::string draw_policy(dice& d) {
  using namespace std::chrono_literals;
  const std::string attempts = R"("maxAttempts":)" + std::to_string(d.between(2, 5));
  if (d.one_in(2)) {
    return R"("hedgingPolicy":{)" + attempts + R"(,"hedgingDelay":)" + seconds(d.up_to(2s)) +
           (d.one_in(2) ? R"(,"nonFatalStatusCodes":["UNAVAILABLE"]})" : "}");
  }
  return R"("retryPolicy":{)" + attempts + R"(,"initialBackoff":)" + seconds(d.up_to(1s)) +
         R"(,"maxBackoff":)" + seconds(d.up_to(10s)) +
         R"(,"backoffMultiplier":1.6,"retryableStatusCodes":["UNAVAILABLE"]})";
}

}  // namespace

service_config draw_policies(run& r, dice& d) {
  std::string json = R"({"methodConfig":[{"name":[{}],)" + draw_policy(d) + "}]";
  if (d.one_in(3))
    json +=
        R"(,"retryThrottling":{"maxTokens":)" + std::to_string(d.between(1, 20)) + R"(,"tokenRatio":0.5})";
  const auto parsed = service_config::parse(json + "}");
  if (!parsed) r.complain(parsed.status().to_string());
  return parsed ? *parsed : service_config();
}

}  // namespace coracle::swarm
