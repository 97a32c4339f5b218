// resolver: finds the servers of a target, for a channel, for as long as the channel lives.
#pragma once

#include "coracle/client/resolution.hpp"
#include "coracle/client/target.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/watch.hpp"

#include <functional>
#include <memory>
#include <string>

namespace coracle::client {

// What a resolver tells its channel. On the loop where resolver::run() runs.
class resolution_sink {
 public:
  // From now on the channel's servers are these.
  virtual void publish(resolution found) = 0;
  // Nothing was found this time: calls go on with what was published before, and fail with UNAVAILABLE
  // where there is none. After that, wanted() returns when a pause is over (1 s, times 1.6, at most 120 s).
  virtual void fail(const status& why) = 0;
  // Returns when the channel wants the names looked at again: a connection was lost or could not be made;
  // not before 30 s (channel_options::resolve_pause()) after the last publish().
  virtual task<> wanted() = 0;

 protected:
  ~resolution_sink() = default;
};

// Users derive from it for ways of their own to find servers: channel_options::resolver() takes one for a
// channel, channel_options::resolver_for() a maker for a scheme.
class resolver {
 public:
  virtual ~resolver() = default;
  // One coroutine a channel, on a loop of the channel's runtime, begun with its first call or connect():
  // looks, publishes, waits for wanted() or for news of its own, and so on. Stopped (coro::cancelled out of
  // its waits) when the channel goes; what it throws otherwise is a failure to resolve. Both arguments
  // outlive it.
  virtual task<> run(const target& of, resolution_sink& to) = 0;
};

using resolver_maker = std::function<std::shared_ptr<resolver>(const target& of)>;

// Says what it was told, to any number of channels of one runtime: for lists that the program keeps, and for
// tests. Must outlive the channels' runtime or be held by the channels alone.
class manual_resolver final : public resolver {
 public:
  explicit manual_resolver(resolution first) noexcept : now_(std::move(first)) {}
  // Any thread.
  void set(resolution next) { now_.set(std::move(next)); }
  task<> run(const target& of, resolution_sink& to) override;

 private:
  watch<resolution> now_;
};

}  // namespace coracle::client
