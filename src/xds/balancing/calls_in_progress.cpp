#include "xds/balancing/calls_in_progress.hpp"

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
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<calls_in_progress>& one = known[{cluster, service}];
  auto found = one.lock();
  if (!found) one = found = std::make_shared<calls_in_progress>();
  return found;
}

}  // namespace coracle::xds
