// gRPC with policies of retries or hedging: calls of every kind end once, whole and in order, however often they are made.
#include "sim/swarm/calls_world.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/client/service_config.hpp"

#include <string>

namespace coracle::swarm {

namespace {

// Attempts of a policy at most, and a transparent retry.
constexpr int attempts_max = 5 + 1;

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

service_config draw_config(run& r, dice& d) {
  std::string json = R"({"methodConfig":[{"name":[{}],)" + draw_policy(d) + "}]";
  if (d.one_in(3))
    json +=
        R"(,"retryThrottling":{"maxTokens":)" + std::to_string(d.between(1, 20)) + R"(,"tokenRatio":0.5})";
  const auto parsed = service_config::parse(json + "}");
  if (!parsed) r.complain(parsed.status().to_string());
  return parsed ? *parsed : service_config();
}

}  // namespace

void play_retries(run& r) {
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  call_ledger ledger(r, mix);
  ledger.expect_attempts(attempts_max);
  {
    calls_world world(r, mix, ledger, draw_config(r, draws));
    world.play();
  }
  ledger.check_all_ended();
}

}  // namespace coracle::swarm
