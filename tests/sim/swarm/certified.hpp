// certified: what the servers and clients of a scenario prove with who they are: in files, which an operator
// writes anew while calls go on.
#pragma once

#include "sim/swarm/authority.hpp"
#include "sim/swarm/mixture.hpp"
#include "sim/swarm/run.hpp"

#include "coracle/coro/task.hpp"
#include "coracle/security/security.hpp"
#include "coracle/server/server_context.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::swarm {

// The scenario's, for as long as its world.
class certified {
 public:
  certified(run& r, const mixture& m);
  certified(const certified&) = delete;
  certified& operator=(const certified&) = delete;
  ~certified();  // removes the files

  // Read anew in each life of a host.
  std::shared_ptr<security::server_security> serve();
  std::shared_ptr<security::client_security> call();
  // The clients' that came last.
  [[nodiscard]] std::shared_ptr<security::client_security> last_client() const { return last_client_; }

  // A root on the operator's host: some renewals. What is done is remembered over crashes.
  task<> renew_often();
  // Replaces everything, including the authority: the earlier certificates are trusted no longer.
  void replace_all();

  // In a handler: a client is who it says. `newest`: and of the certificates that are in force now.
  void look_at(const server_context& context, bool newest);

 private:
  void issue_anew();
  void write_chains();
  void write_keys();
  void write(const std::string& name, const std::string& text);
  // whole: chains and keys fit together.
  void reload(bool whole);
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  run& run_;
  dice draws_;
  const bool mutual_;
  const bool by_call_;  // otherwise each new connection checks the files
  const bool halves_;  // chains and keys do not change at once
  std::uint64_t renewals_;
  std::uint32_t number_ = 0;  // of the certificates in force, the operator thinks
  std::uint32_t authorities_ = 1;
  authority authority_{1};
  issued server_;
  issued client_;
  std::string folder_;
  std::vector<std::weak_ptr<security::server_security>> servers_;
  std::vector<std::weak_ptr<security::client_security>> clients_;
  std::shared_ptr<security::client_security> last_client_;
};

}  // namespace coracle::swarm
