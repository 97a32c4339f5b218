// certified: the certificates of the servers and clients of a scenario, in files that an operator rewrites
// while calls run.
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

// Belongs to the scenario, for the life of its world.
class certified {
 public:
  certified(run& r, const mixture& m);
  certified(const certified&) = delete;
  certified& operator=(const certified&) = delete;
  ~certified();  // removes the files

  // Read again in each life of a host.
  std::shared_ptr<security::server_security> serve();
  std::shared_ptr<security::client_security> call();
  // The latest ones of the clients.
  [[nodiscard]] std::shared_ptr<security::client_security> last_client() const { return last_client_; }

  // A root task on the operator's host: some renewals. The progress is remembered over crashes.
  task<> renew_often();
  // Replaces everything, including the authority: the earlier certificates are trusted no longer.
  void replace_all();

  // In a handler: a client is who it claims to be. `newest`: and its certificate is a current one.
  void look_at(const server_context& context, bool newest);

 private:
  void issue_anew();
  void write_chains();
  void write_keys();
  void write(const std::string& name, const std::string& text);
  // whole: chains and keys match.
  void reload(bool whole);
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  run& run_;
  dice draws_;
  const bool mutual_;
  const bool by_call_;  // otherwise each new connection checks the files
  const bool halves_;  // chains and keys do not change at once
  std::uint64_t renewals_;
  std::uint32_t number_ = 0;  // of the current certificates, as the operator assumes
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
