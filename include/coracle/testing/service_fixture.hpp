// service_fixture: connects a service, a real server and a real channel in one process, without a port.
#pragma once

#include "coracle/client/channel.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace coracle::testing {

/// Runs a service behind a real server, with a channel to it, in one process. Calls pass through both HTTP/2
/// engines, over memory instead of a socket: headers, flow control, deadlines and resets behave as they do
/// over a network. For the test's own thread, which calls with sync_wait() and drives no loop. Use it as a
/// member of the test or in the test's body:
///
///   coracle::testing::service_fixture<movies> movie(store);
///   movie::rpc::MovieService::stub stub(movie.channel());
///   EXPECT_EQ(coracle::sync_wait(stub.AddMovie(m)).status(), coracle::status());
template <class Service>
class service_fixture {
 public:
  /// Makes Service(args...) and a runtime of the fixture's own with one loop.
  template <class... Args>
  explicit service_fixture(Args&&... args)
      : own_(std::make_unique<coracle::runtime>()),
        runtime_(*own_),
        service_(std::forward<Args>(args)...),
        server_(runtime_) {
    server_.add(service_);
  }
  /// Makes Service(args...) on the runtime `on`, which the fixtures of services that call each other may
  /// share: a channel works only on the loops of its runtime.
  template <class... Args>
  explicit service_fixture(coracle::runtime& on, Args&&... args)
      : runtime_(on), service_(std::forward<Args>(args)...), server_(runtime_) {
    server_.add(service_);
  }
  service_fixture(const service_fixture&) = delete;
  service_fixture& operator=(const service_fixture&) = delete;

  /// The service, which handles calls on the loops of runtime().
  [[nodiscard]] Service& service() noexcept { return service_; }
  /// The server, to add more services and interceptors before the first channel().
  [[nodiscard]] coracle::server& server() noexcept { return server_; }
  /// The runtime of the server and of the channel.
  [[nodiscard]] coracle::runtime& runtime() noexcept { return runtime_; }
  /// The channel to the server, which is made on the first call.
  [[nodiscard]] coracle::channel& channel() {
    if (!channel_) channel_.emplace(runtime_, server_.in_process());
    return *channel_;
  }

 private:
  std::unique_ptr<coracle::runtime> own_;
  coracle::runtime& runtime_;
  Service service_;
  coracle::server server_;
  std::optional<coracle::channel> channel_;
};

}  // namespace coracle::testing
