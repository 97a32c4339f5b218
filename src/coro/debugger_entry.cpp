#include "coro/debugger_entry.hpp"

#include <cstddef>
#include <mutex>

namespace coracle::coro {

// The offsets of members of a derived class are well defined with both compilers, since it has no virtual
// bases.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
consteval debugger_data debugger_data::empty() noexcept {
  return {.version = current_version,
          .where_offset = offsetof(tree_node, where_),
          .awaits_offset = offsetof(tree_node, awaits_),
          .parent_offset = offsetof(tree_node, parent_),
          .first = nullptr};
}
#pragma GCC diagnostic pop

[[gnu::used]] constinit debugger_data debugger_tasks = debugger_data::empty();

namespace {
constinit std::mutex records_mutex;
}  // namespace

debugger_entry::debugger_entry(executor& of, const void* owner, std::size_t index) noexcept
    : record_{.next = nullptr, .previous = nullptr, .tasks = &of.tasks(), .owner = owner, .index = index} {
  const std::lock_guard lock(records_mutex);
  record_.next = debugger_tasks.first;
  if (record_.next) record_.next->previous = &record_;
  debugger_tasks.first = &record_;
}

debugger_entry::~debugger_entry() {
  const std::lock_guard lock(records_mutex);
  if (record_.next) record_.next->previous = record_.previous;
  (record_.previous ? record_.previous->next : debugger_tasks.first) = record_.next;
}

}  // namespace coracle::coro
