// calls_world: hosts of servers and clients, their programs, and the faults that a scenario injects.
#pragma once

#include "sim/swarm/caller.hpp"
#include "sim/swarm/certified.hpp"
#include "sim/swarm/numbered_service.hpp"
#include "sim/swarm/policies.hpp"
#include "sim/swarm/run.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::swarm {

// What the program of a server owns.
class serving {
 public:
  // secure: null for plaintext.
  serving(runtime& on, call_ledger& ledger, const server_options& options, certified* secure)
      : runtime_(on), service_(ledger, secure), options_(options) {
    if (secure) credentials_ = secure->serve();
  }
  // A server that listens; returns the status of listen().
  status open();
  void stop() noexcept { server_->stop(); }
  void close() { server_.reset(); }

 private:
  runtime& runtime_;
  numbered_service service_;
  const server_options options_;
  server_credentials credentials_ = insecure();
  std::optional<server> server_;
};

// What differs between the scenarios.
struct calls_world_options {
  const drawn_policies* policies = nullptr;  // of the clients' channels; null: none
  certified* secure = nullptr;  // null: plaintext
  bool web = false;  // each channel speaks a protocol over a version of HTTP that are drawn, not gRPC
};

class calls_world {
 public:
  calls_world(run& r, const mixture& m, call_ledger& ledger, const calls_world_options& o = {});
  // Everything, up to the last call on a repaired network.
  void play();

 private:
  static sim::world_options options(run& r, dice& draws, const mixture& m);
  void start_servers();
  void start_clients();
  void start_operator();
  server_options draw_server();
  channel_options draw_channel();
  [[nodiscard]] std::string target(std::size_t server) const;
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] bool wait_and_drain();  // false: a hang
  void drain_one();
  void mend_all();
  void call_once_more();

  run& run_;
  const mixture& mix_;
  call_ledger& ledger_;
  const drawn_policies* policies_;
  certified* secure_;
  const bool web_;
  dice draws_;
  bool drains_;
  std::vector<std::unique_ptr<caller>> callers_;
  std::vector<std::weak_ptr<serving>> servers_;
  std::vector<std::string> hosts_;  // the servers first
  sim::world world_;  // ends before what its programs refer to
};

}  // namespace coracle::swarm
