// resolver: finds the servers of a target for a channel, and updates them as long as the channel lives.
#pragma once

#include "coracle/client/resolution.hpp"
#include "coracle/client/target.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/watch.hpp"

#include <functional>
#include <memory>
#include <string>

namespace coracle::client {

/// Receives the results of a resolver for one channel. On the loop on which resolver::run() runs.
class resolution_sink {
 public:
  /// Replaces the servers of the channel.
  virtual void publish(resolution found) = 0;
  /// Reports that resolution failed. Calls continue with the last published servers, or fail with UNAVAILABLE
  /// if there are none. After a failure wait_until_requested() does not return before a pause has passed: 1
  /// s, growing by a factor of 1.6 up to 120 s.
  virtual void fail(const status& reason) = 0;
  /// Returns when the channel requests another resolution, because a connection was lost or could not be
  /// made; not before channel_options::resolve_pause (30 s) has passed since the last publish().
  virtual task<> wait_until_requested() = 0;

 protected:
  ~resolution_sink() = default;
};

/// Finds the servers of a target. Users derive from it.
///
/// channel_options::resolver takes a resolver for one channel, channel_options::add_resolver() a maker for
/// a scheme.
class resolver {
 public:
  virtual ~resolver() = default;
  /// Resolves the target in a loop: resolves, publishes, waits for wait_until_requested() or for an event of
  /// its own, and repeats.
  ///
  /// It runs once per channel, on a loop of the channel's runtime, from the first call or connect(). When the
  /// channel is destroyed its waits end with coro::cancelled. Any other exception counts as a failure to
  /// resolve. Both arguments outlive the task.
  virtual task<> run(const target& of, resolution_sink& to) = 0;
};

/// Makes a resolver for a target.
using resolver_maker = std::function<std::shared_ptr<resolver>(const target& of)>;

/// Publishes the servers that the program sets, to any number of channels of one runtime. For lists that the
/// program maintains, and for tests. It must outlive the channels' runtime, or only the channels may own it.
class manual_resolver final : public resolver {
 public:
  explicit manual_resolver(resolution first) noexcept : now_(std::move(first)) {}
  /// Replaces the servers. May be called from any thread.
  void set(resolution next) { now_.set(std::move(next)); }
  task<> run(const target& of, resolution_sink& to) override;

 private:
  watch<resolution> now_;
};

}  // namespace coracle::client
