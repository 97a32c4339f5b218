#include "server/router.hpp"

#include "coracle/base/assert.hpp"

namespace coracle::serving {

void router::add(service& s) {
  services_.push_back(&s);
  for (const coracle::method& m : s.methods()) {
    const bool fresh = by_path_.emplace(m.path, static_cast<std::uint32_t>(rows_.size())).second;
    CORACLE_ASSERT(fresh, "two services were added that answer the same path");
    rows_.push_back({&m, &s, s.wants_arena()});
  }
}

const router::row* router::find(std::string_view path) const noexcept {
  const auto it = by_path_.find(path);
  return it == by_path_.end() ? nullptr : &rows_[it->second];
}

}  // namespace coracle::serving
