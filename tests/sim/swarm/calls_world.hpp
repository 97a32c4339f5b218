// calls_world: server hosts and client hosts, their programs, and the trouble that a scenario makes for them.
#pragma once

#include "sim/swarm/caller.hpp"
#include "sim/swarm/numbered_service.hpp"
#include "sim/swarm/run.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::swarm {

// What a server's program owns.
class serving {
 public:
  serving(runtime& on, call_ledger& ledger, duration drain_grace)
      : runtime_(on), service_(ledger), drain_grace_(drain_grace) {}
  // A server that listens; the status of listen().
  status open();
  void stop() noexcept { server_->stop(); }
  void close() { server_.reset(); }

 private:
  runtime& runtime_;
  numbered_service service_;
  duration drain_grace_;
  std::optional<server> server_;
};

class calls_world {
 public:
  // config: of the clients' channels.
  calls_world(run& r, const mixture& m, call_ledger& ledger, service_config config = {});
  // Everything, up to the last call on a mended network.
  void play();

 private:
  static sim::world_options options(run& r, dice& draws, const mixture& m);
  void start_servers();
  void start_clients();
  [[nodiscard]] std::string target(std::size_t server) const;
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] bool wait_and_drain();  // false: a hang
  void drain_one();
  void mend_all();
  void call_once_more();

  run& run_;
  const mixture& mix_;
  call_ledger& ledger_;
  service_config config_;
  dice draws_;
  bool drains_;
  std::vector<std::unique_ptr<caller>> callers_;
  std::vector<std::weak_ptr<serving>> servers_;
  std::vector<std::string> hosts_;  // the servers first
  sim::world world_;  // ends before what its programs refer to
};

}  // namespace coracle::swarm
