#include "client/balancing/random_subsetting.hpp"

#include "base/xxh64.hpp"

#include <algorithm>
#include <set>

namespace coracle::client {

struct random_subsetting::seed final : shared_by_loops {
  explicit seed(std::uint64_t v) noexcept : value(v) {}
  const std::uint64_t value;
};

std::unique_ptr<balancer> random_subsetting_config::make(balancer_host& host) const {
  return std::make_unique<random_subsetting>(host);
}

random_subsetting::random_subsetting(balancer_host& host)
    : balancer(host),
      forwarding_host(host),
      seed_(std::static_pointer_cast<seed>(host.shared("random_subsetting", [](std::uint64_t random) {
        return std::static_pointer_cast<shared_by_loops>(std::make_shared<seed>(random));
      }))) {}

void random_subsetting::update(const balancing& policy, const std::vector<endpoint>& servers) {
  const auto& config = static_cast<const random_subsetting_config&>(policy.config());
  struct ranked {
    std::uint64_t hash;
    std::size_t index;
  };
  std::vector<ranked> ranking;
  std::set<net::address> listed;
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (listed.insert(servers[i].address()).second)
      ranking.push_back({base::xxh64(servers[i].address().to_string(), seed_->value), i});
  if (ranking.size() > config.size()) {
    std::sort(ranking.begin(), ranking.end(),
              [](const ranked& a, const ranked& b) { return a.hash < b.hash; });
    ranking.resize(config.size());
    // In the order of the list, which means something to pick_first.
    std::sort(ranking.begin(), ranking.end(),
              [](const ranked& a, const ranked& b) { return a.index < b.index; });
  }
  std::vector<endpoint> selected;
  selected.reserve(ranking.size());
  for (const ranked& r : ranking) selected.push_back(servers[r.index]);
  if (balancer* const fresh = child_.update(config.child(), selected, *this)) fresh->start();
}

}  // namespace coracle::client
