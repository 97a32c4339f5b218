// fleet_world: several servers behind one name that changes, and clients whose channels differ as much as
// their options permit.
#pragma once

#include "sim/swarm/mixture.hpp"
#include "sim/swarm/run.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "echo.coracle.hpp"

#include <memory>
#include <string>
#include <vector>

namespace coracle::swarm {

// What the callers report, over all lives of their hosts.
struct fleet_findings {
  run& of;
  int left = 0;  // callers that run
  int lives = 0;
};

class fleet_world {
 public:
  fleet_world(run& r, const mixture& m);
  void play();

 private:
  void start_servers();
  void start_clients();
  // From now on, the name resolves to some of the servers, or cannot be resolved.
  void rename();
  void rename_to(const std::vector<std::string>& hosts);
  const std::string& leave_one(bool others_return);
  void call_once_more();

  run& run_;
  dice draws_;
  fleet_findings findings_{run_};
  std::vector<std::string> servers_;
  std::vector<std::string> clients_;
  sim::world world_;  // ends before what its programs refer to
};

}  // namespace coracle::swarm
