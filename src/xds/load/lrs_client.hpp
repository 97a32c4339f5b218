// lrs_client: reports the load of a target's clusters to the control planes that want it (gRFC A27, LRS).
#pragma once

#include "coracle/client/channel_handle.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/load/cluster_load.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

// Has a stream to each control plane that wants reports of a cluster, while there is one. Lives on the loop
// of run().
class lrs_client {
 public:
  using channel_maker = std::function<channel(const management_server&)>;

  lrs_client(std::shared_ptr<const bootstrap> from, std::string user_agent_name,
             std::string user_agent_version, channel_maker make)
      : from_(std::move(from)),
        user_agent_name_(std::move(user_agent_name)),
        user_agent_version_(std::move(user_agent_version)),
        make_(std::move(make)) {}

  // Runs until it is stopped, and ends with coro::cancelled then. Once. The client must outlive it.
  [[nodiscard]] task<> run();

  // What is counted in the result is reported to `to`, also after the last of its other users has gone.
  [[nodiscard]] std::shared_ptr<cluster_load> load_of(const management_server& to, const std::string& cluster,
                                                      const std::string& service);

 private:
  struct plane;
  struct session;

  [[nodiscard]] task<> begin_streams(scope& streams);
  [[nodiscard]] task<> serve(std::shared_ptr<plane> to);
  // Whether the control plane has responded.
  [[nodiscard]] task<bool> converse(std::shared_ptr<plane> to);

  const std::shared_ptr<const bootstrap> from_;
  const std::string user_agent_name_;
  const std::string user_agent_version_;
  const channel_maker make_;
  std::vector<std::shared_ptr<plane>> planes_;
  event<> another_;  // control plane
};

}  // namespace coracle::xds
