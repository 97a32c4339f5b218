// A project that moves from grpc++ to Coracle uses both for a while.
#include "shipyard.coracle.hpp"
#include "shipyard.grpc.pb.h"
#include "shipyard_mock.grpc.pb.h"

#include <string_view>

class ours final : public shipyard::rpc::Yard::service {};
class theirs final : public shipyard::Yard::Service {};

int main() {
  ours new_yard;
  theirs old_yard;
  shipyard::MockYardStub old_mock;
  const bool same = std::string_view(shipyard::Yard::service_full_name()) == shipyard::rpc::Yard::full_name;
  return same && new_yard.methods().size() == 1 && old_yard.has_synchronous_methods() ? 0 : 1;
}
