// channel_pool: one channel for all who ask for the same target in the same way.
#pragma once

#include "coracle/client/channel.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/transport/credentials.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

// For programs whose parts each make the channel that they need: a thousand get() of the same target give the same
// connections. Any thread may call everything. A channel that nobody holds any more stays, and its connections with
// it, until it has rested (channel_options::idle_timeout()); then a later get() or size() drops it.
class channel_pool {
 public:
  // `on` must outlive the pool and every channel that it gave.
  explicit channel_pool(runtime& on) noexcept : on_(on) {}
  channel_pool(const channel_pool&) = delete;
  channel_pool& operator=(const channel_pool&) = delete;

  // The same channel for the same text, credentials that share their security (or both plaintext), and equal
  // options.
  [[nodiscard]] std::shared_ptr<channel> get(std::string_view target,
                                             const transport::channel_credentials& credentials,
                                             const channel_options& options = {});
  // The channels that are held by somebody or have not rested yet.
  [[nodiscard]] std::size_t size();

 private:
  struct entry {
    std::string target;
    transport::channel_credentials credentials;
    channel_options options;
    std::shared_ptr<channel> made;
  };
  void drop_unused();

  runtime& on_;
  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace coracle
