// channel: the class, without the headers that its constructors need: coracle/client/channel.hpp has those.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/security/credentials.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

class auth_context;
class channel_options;
class runtime;

namespace transport {
class connector;
}

/// Connects to the servers of a target and sends the calls of stubs to them.
///
/// A channel is a handle: copies share one set of connections, and a copy costs one reference count. Pass it
/// by value, and keep it in stubs by value, as generated stubs do. Handles may be copied, used and destroyed
/// on any thread; one handle object is for one thread at a time, as a std::shared_ptr is.
///
/// The channel resolves the target and connects when the first call needs it, and again after a connection is
/// lost. It pauses between attempts that fail, and after connections that are lost shortly after they were
/// established: 1 s, growing by a factor of 1.6 up to 120 s, with 20 % jitter (grpc/grpc
/// doc/connection-backoff.md). A call that begins while the channel connects waits within its deadline. A
/// call that begins while no server can be reached fails at once with UNAVAILABLE and the reason, unless
/// call_options::wait_for_ready is set. Calls beyond a server's stream limit wait in the order in which
/// they were made.
///
/// Each loop that calls through the channel has its own connections, and a call resumes on the loop of its
/// caller. Calls may be made on the loops of the channel's runtime, and with sync_wait() by plain threads.
///
/// The end: when the last handle is dropped, the calls in progress, including those that wait for a
/// connection or pause between retries, continue to their ends; then the connections close. Dropping a handle
/// never waits, on any thread. A unary call is in progress from its await on: until then its stub, or another
/// handle, must exist. A streaming call object is itself a handle. close() ends the calls at once, and
/// shutdown() waits for them. The destructor of the runtime ends what is left; after that all calls fail with
/// UNAVAILABLE. The interceptors, observer and resolvers of a channel are destroyed by the thread that drops
/// the last handle, or by the last loop that used the channel.
class channel {
 public:
  /// Makes a handle without a channel. Its calls fail with UNAVAILABLE, and its state is SHUTDOWN; a channel
  /// that was moved from is the same.
  channel() noexcept;
  /// Makes a channel on the background runtime of the process, which has one loop. For programs without
  /// loops: calls are made with sync_wait().
  ///
  /// That runtime starts with the first such channel and ends when the program exits, in the order of
  /// destructors of static objects. Calls that are in progress then end with UNAVAILABLE or CANCELLED.
  ///
  /// target (grpc/grpc doc/naming.md): "example.org:50051", "dns:///example.org:50051" (port 443 if there is
  /// none), "127.0.0.1:50051", "[::1]:50051", "ipv4:10.0.0.1:50051,10.0.0.2:50051", "ipv6:[::1]:50051,...",
  /// "unix:/path", "unix-abstract:name", "passthrough:///host:port", or a scheme of
  /// channel_options::add_resolver(). With an invalid target every call fails with the reason.
  ///
  /// credentials: insecure(), or coracle::tls::client_options().
  channel(std::string_view target, channel_credentials credentials);
  /// The same with options.
  channel(std::string_view target, channel_credentials credentials, channel_options options);
  /// Makes a channel on the runtime `on`. Handles may outlive the runtime.
  channel(runtime& on, std::string_view target, channel_credentials credentials);
  /// The same with options.
  channel(runtime& on, std::string_view target, channel_credentials credentials, channel_options options);
  /// Makes a channel to a server in this process, server::in_process(), or over the streams of a
  /// coracle::connector, without TLS.
  channel(runtime& on, std::shared_ptr<transport::connector> to);
  /// The same with options.
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_options options);
  /// Makes a channel over the streams of a coracle::connector, secured by `credentials`.
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials);
  /// The same with options.
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials,
          channel_options options);
  /// @cond  For tests: a channel of one's own. Not null.
  explicit channel(std::shared_ptr<call_channel> implementation) noexcept;
  /// @endcond
  channel(const channel&) noexcept = default;
  channel(channel&& other) noexcept : channel() { std::swap(by_, other.by_); }
  channel& operator=(const channel&) noexcept = default;
  channel& operator=(channel&& other) noexcept {
    channel taken(std::move(other));
    std::swap(by_, taken.by_);
    return *this;
  }
  ~channel() = default;

  /// Returns a handle of the same channel with interceptors around each call made through it, the first one
  /// outermost.
  ///
  ///   const coracle::channel guarded = channel.with_interceptors({logging, keys});  // logging is outermost
  ///   movie::rpc::MovieService::stub movies(guarded);
  ///
  /// They run outside those that this handle already has, and those of channel_options::interceptors. They
  /// are shared: the handle and its calls keep them. Throws usage_error if one is null.
  [[nodiscard]] channel with_interceptors(std::vector<std::shared_ptr<client_interceptor>> front) const;

  /// Ends the calls in progress, through all handles, with UNAVAILABLE, and closes the connections. Later
  /// calls fail with UNAVAILABLE. Does not wait: a call that begins on another loop at the same moment may
  /// still end in either way. May be called from any thread. Idempotent.
  void close() noexcept;
  /// Makes later calls, through all handles, fail with UNAVAILABLE, and waits until the calls in progress
  /// have ended and the connections are closed. For coroutines on a loop of any runtime, but not inside a
  /// call of the channel. The task begins when it is awaited, and may outlive the handle.
  ///
  /// A stop of the awaiter, by with_timeout() for example, ends the wait with coro::cancelled, and the calls
  /// continue; close() may follow.
  [[nodiscard]] task<> shutdown();

  /// Returns why every call fails, if the target, the authority or the credentials are invalid; OK otherwise.
  [[nodiscard]] status invalid_reason() const;

  /// Returns the runtime of the channel. Throws usage_error if there is none or it has ended.
  [[nodiscard]] runtime& owner() const;

  /// Returns the best state among the loops of the runtime, which may change at any moment. May be called
  /// from any thread.
  [[nodiscard]] connectivity state() const noexcept;
  /// Returns who the server is, of a connection of the current loop that is READY (with several, of one of
  /// them): for a credentials_source that decides by it. Null without such a connection, in plaintext, and on
  /// a thread that is no loop of the channel's runtime.
  [[nodiscard]] std::shared_ptr<const auth_context> server_auth() const;
  /// Leaves IDLE without a call, on the current loop, or on loop 0 if the caller is not on a loop of the
  /// channel's runtime. May be called from any thread.
  void connect();
  /// Waits until state() differs from `from`, and returns true; returns false when `at_most` has passed. It
  /// may return without waiting, and may miss states in between. It may outlive the handle. The end of the
  /// channel is the state SHUTDOWN.
  [[nodiscard]] task<bool> wait_for_state_change(connectivity from, duration at_most = duration::max());

  /// Returns whether both are handles of the same channel with the same interceptors.
  friend bool operator==(const channel& a, const channel& b) noexcept { return a.by_ == b.by_; }

  /// @cond  For the library: what calls refer to, and what keeps it.
  [[nodiscard]] call_channel& implementation() const noexcept { return *by_; }
  [[nodiscard]] const std::shared_ptr<call_channel>& shared() const noexcept { return by_; }
  /// @endcond

 private:
  std::shared_ptr<call_channel> by_;  // never null
};

}  // namespace coracle
