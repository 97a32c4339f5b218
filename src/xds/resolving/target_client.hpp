// target_client: what control planes configure for one target, for all channels to it in a runtime.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/watch.hpp"
#include "coracle/xds/xds.hpp"
#include "xds/ads/shared_clients.hpp"
#include "xds/resolving/policy_tree.hpp"
#include "xds/resolving/target_watcher.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace coracle::xds {

// Of a target at a time. Does not change.
struct target_update {
  result<target_state> seen;  // an error is that of all calls
  policy_tree::built built;
};

// Has a client of control planes, the reports of loads and the policies while it runs. Channels on any loop
// use what it publishes.
class target_client final : public shared_client {
 public:
  struct parameters {
    std::shared_ptr<const bootstrap> from;
    std::shared_ptr<const xds_options> options;
    std::string target;  // its text
    std::string listener_name;
    std::string authority;  // which chooses the virtual host
  };
  // On the loop of run().
  explicit target_client(parameters of)
      : of_(std::move(of)), look_again_(*loop::current()), latest_(nullptr, *loop::current()) {}

  task<> run() override;
  void ended(std::exception_ptr why) noexcept override {
    failure_ = std::move(why);
    latest_.close();
  }

  // --- any loop
  using latest_update = watch<std::shared_ptr<const target_update>>;
  // The first value is null. It is closed when run() has ended.
  [[nodiscard]] latest_update& latest() noexcept { return latest_; }
  // Why run() has ended. When latest() is closed.
  [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }
  // Host names of clusters are resolved again: a server is lost that may have another address now.
  void look_again() noexcept { look_again_.set(); }

 private:
  class parts;

  const parameters of_;
  event<> look_again_;
  latest_update latest_;
  std::exception_ptr failure_;
};

}  // namespace coracle::xds
