// A user's program and its test: a service with everything that a server should have, called through the test
// kit.
#include "shipyard.coracle.fake.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

int main() {
  coracle::testing::service_fixture<shipyard::rpc::YardFake> yard;
  coracle::with_defaults(yard.server()).set_status("shipyard.Yard", coracle::health_status::serving);
  shipyard::Boat boat;
  boat.set_name("a raft");
  yard.service().on.Build.returns(boat);

  const shipyard::rpc::Yard::stub stub(yard.channel());
  const auto built = coracle::sync_wait(stub.Build(shipyard::Plan()));
  return built && built->name() == "a raft" ? 0 : 1;
}
