#include "coracle/client/channel_pool.hpp"

#include <algorithm>
#include <utility>

namespace coracle {

channel channel_pool::get(std::string_view target, const channel_credentials& credentials,
                          const channel_options& options) {
  return get({std::string(target), credentials, options, {}, {}, {}});
}

// Channels are made and destroyed outside the lock, because resolvers and their makers are the user's code,
// and may use the pool. If two threads make the same channel at the same time, one of them gets the other's.
channel channel_pool::get(entry request) {
  drop_unused();
  if (auto made = find_or_add(request)) return *std::move(made);
  request.made.emplace(on_, request.target, request.credentials, request.options);
  return *find_or_add(request);
}

// Returns nothing if there is none and `request` has none to add.
std::optional<channel> channel_pool::find_or_add(const entry& request) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const entry& e) {
    return e.target == request.target && e.options == request.options && e.has_same_credentials(request) &&
           e.made->state() != connectivity::shutdown;
  };
  auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found == entries_.end()) {
    if (!request.made) return {};
    found = entries_.insert(found, request);
  }
  found->given = on_.now();
  return found->made;
}

// Two threads that built equal options at the same time have two equivalent security objects.
bool channel_pool::entry::has_same_credentials(const entry& other) const {
  if (credentials.security() == other.credentials.security())
    return credentials.failure() == other.credentials.failure();
  return credentials.secure() && other.credentials.secure() && from.equals(other.from);
}

// Entries whose options failed do not count: they may succeed now, if a missing file has been created
// meanwhile.
std::optional<channel_credentials> channel_pool::built_from(const origin& o) {
  const std::lock_guard lock(mutex_);
  for (const entry& e : entries_)
    if (e.credentials.secure() && e.from.equals(o)) return e.credentials;
  return {};
}

std::size_t channel_pool::size() {
  drop_unused();
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

// A channel that has not been used yet is also IDLE; only the time since the last get() distinguishes it from
// one that has become idle.
void channel_pool::drop_unused() {
  std::vector<entry> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto in_use = [now = on_.now()](const entry& e) {
    const connectivity state = e.made->state();
    if (state == connectivity::shutdown) return false;
    return e.made->shared().use_count() > 1 || state != connectivity::idle ||
           now < deadline_after(e.given, e.options.idle_timeout);
  };
  std::erase_if(entries_, [&](entry& e) {
    if (in_use(e)) return false;
    dropped.push_back(std::move(e));
    return true;
  });
}

}  // namespace coracle
