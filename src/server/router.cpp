#include "server/router.hpp"

#include "coracle/base/impl/assert.hpp"

namespace coracle::server_internal {

void router::add(service& s) {
  services_.push_back(&s);
  for (const coracle::method& m : s.methods()) {
    const bool fresh = by_path_.emplace(m.path, static_cast<std::uint32_t>(rows_.size())).second;
    CORACLE_ASSERT(fresh, "two services were added that answer the same path");
    rows_.push_back({&m, &s, s.wants_arena()});
  }
}

std::optional<std::uint32_t> router::find_route(std::string_view path) const noexcept {
  const auto it = by_path_.find(path);
  if (it == by_path_.end()) return std::nullopt;
  return it->second;
}

}  // namespace coracle::server_internal
