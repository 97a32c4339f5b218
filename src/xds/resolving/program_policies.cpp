#include "xds/resolving/program_policies.hpp"

#include <new>
#include <utility>

namespace coracle::xds {

std::optional<result<balancing>> program_policies::find(std::string_view name, std::string_view config) {
  const auto maker = makers_.find(name);
  if (maker == makers_.end() || !maker->second) return std::nullopt;
  const std::pair key{std::string(name), std::string(config)};
  if (const auto known = made_.find(key); known != made_.end()) {
    known->second.used = true;
    return known->second.policy;
  }
  const auto failed = [&](std::string_view why) {
    return result<balancing>(status::invalid_argument("the policy " + std::string(name) +
                                                      " rejects its config: " + std::string(why)));
  };
  try {
    auto one = maker->second(config);
    if (!one) return failed(one.status().message());
    return made_.emplace(key, made{*std::move(one)}).first->second.policy;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return failed("its function threw an exception");
  }
}

std::optional<status> program_policies::check(std::string_view name, std::string_view config) {
  const auto found = find(name, config);
  if (!found) return std::nullopt;
  return found->status();
}

void program_policies::end_unused() {
  std::erase_if(made_, [](const auto& entry) { return !entry.second.used; });
  for (auto& [key, m] : made_) m.used = false;
}

}  // namespace coracle::xds
