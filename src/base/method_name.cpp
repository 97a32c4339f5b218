#include "base/method_name.hpp"

#include "base/event_ring.hpp"
#include "base/if_memory_allows.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

namespace coracle::base {

namespace {

// Never destroyed: calls may run, and recordings be written, while the program exits.
struct registry {
  std::mutex mutex;
  std::unordered_map<std::string_view, const method_name*> by_path;
  std::size_t of_clients = 0;
};

constinit const method_name* all[method_names::names_max] = {};

registry& names() {
  static auto& one = *new registry;
  return one;
}

const method_name& intern(std::string_view path, bool of_client) noexcept {
  path = path.substr(0, method_name::text_bytes_max);
  const method_name* found = &method_names::unregistered();
  if_memory_allows([&] {
    registry& r = names();
    const std::lock_guard lock(r.mutex);
    if (const auto at = r.by_path.find(path); at != r.by_path.end()) {
      found = at->second;
      return;
    }
    const std::size_t count = event_rings.name_count.load(std::memory_order_relaxed);
    if (count == method_names::names_max || (of_client && r.of_clients == method_names::client_names_max))
      return;
    r.by_path.reserve(count + 1);
    auto* const made = new method_name{};
    made->id = static_cast<std::uint16_t>(count + 1);
    path.copy(made->text, path.size());
    r.by_path.emplace(made->text, made);
    all[count] = found = made;
    r.of_clients += of_client;
    event_rings.name_count.store(count + 1, std::memory_order_release);
  });
  return *found;
}

}  // namespace

[[gnu::used]] constinit event_ring_list event_rings{.version = event_ring_list::current_version,
                                                    .ring_bytes = event_ring::size_bytes,
                                                    .first = nullptr,
                                                    .names = all,
                                                    .name_count = 0};

const method_name& method_names::of_server(std::string_view path) noexcept { return intern(path, false); }
const method_name& method_names::of_client(std::string_view path) noexcept { return intern(path, true); }
std::size_t method_names::count() noexcept { return event_rings.name_count.load(std::memory_order_acquire); }
const method_name& method_names::at(std::size_t id) noexcept { return *all[id - 1]; }

}  // namespace coracle::base
