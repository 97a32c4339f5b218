// channel_observers: who observes the channels of a runtime.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/client/client_observer.hpp"
#include "coracle/client/observe_channels.hpp"
#include "runtime/runtime_core.hpp"

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace coracle::client {

// One per runtime. Any thread.
class channel_observers final : public runtime_internal::companion {
 public:
  static std::shared_ptr<channel_observers> of(runtime& rt);
  void add(channel_observer_factory make);
  // Returns the observer of a channel: that of its options, and those that their factories and the ones of
  // the runtime make for the target, as one. Null if there is none.
  [[nodiscard]] std::shared_ptr<client_observer> observer_of(std::string_view target,
                                                             const channel_options& options) const;
  // runtime_internal::companion
  void runtime_ended() noexcept override;

 private:
  mutable std::mutex mutex_;
  std::vector<channel_observer_factory> factories_;
};

}  // namespace coracle::client
