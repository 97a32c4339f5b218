#include "coracle/client/channel_pool.hpp"

#include <algorithm>

namespace coracle {

std::shared_ptr<channel> channel_pool::get(std::string_view target,
                                           const transport::channel_credentials& credentials,
                                           const channel_options& options) {
  const std::lock_guard lock(mutex_);
  drop_unused();
  for (const entry& e : entries_) {
    if (e.target == target && e.credentials.security() == credentials.security() &&
        e.credentials.failure() == credentials.failure() && e.options == options)
      return e.made;
  }
  auto made = std::make_shared<channel>(on_, target, credentials, options);
  entries_.push_back({std::string(target), credentials, options, made});
  return made;
}

std::size_t channel_pool::size() {
  const std::lock_guard lock(mutex_);
  drop_unused();
  return entries_.size();
}

void channel_pool::drop_unused() {
  std::erase_if(entries_, [](const entry& e) {
    return e.made.use_count() == 1 && e.made->state() == connectivity::idle;
  });
}

}  // namespace coracle
