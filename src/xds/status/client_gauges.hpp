// client_gauges: what a client of control planes is connected to and has, whenever metrics are asked for.
#pragma once

#include "coracle/base/metrics.hpp"
#include "xds/ads/ads_client.hpp"

#include <string>
#include <utility>

namespace coracle::xds {

// On the loop of the client, which outlives it.
class client_gauges final : public metrics_source {
 public:
  client_gauges(std::string target, const ads_client& of) : target_(std::move(target)), of_(of) {}
  // metrics_source
  void report(metrics_sink& to) const noexcept override;

 private:
  const std::string target_;
  const ads_client& of_;
};

}  // namespace coracle::xds
