#include "xds/balancing/calls_in_progress.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

namespace coracle::xds {

std::shared_ptr<calls_in_progress> calls_in_progress::of(const std::string& cluster,
                                                         const std::string& service) {
  using name = std::pair<std::string, std::string>;
  static std::mutex changing;
  static std::map<name, std::weak_ptr<calls_in_progress>> known;
  const std::lock_guard lock(changing);
  static std::size_t forget_at = 64;
  if (known.size() >= forget_at) {  // not each time: there may be thousands
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    forget_at = std::max<std::size_t>(64, 2 * known.size());
  }
  std::weak_ptr<calls_in_progress>& one = known[{cluster, service}];
  auto found = one.lock();
  if (!found) one = found = std::make_shared<calls_in_progress>();
  return found;
}

}  // namespace coracle::xds
