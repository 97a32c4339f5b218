// A service and its caller without a header of Coracle or protobuf: each kind of call, over the test kit.
#include <coroutine>
#include <iostream>
#include <string>
#include <utility>

import coracle;
import shop.yard;

namespace {

using shop::yard::Boat;
using shop::yard::Count;

class yard final : public shop::yard::rpc::Yard::service {
  coracle::reply<Boat> Build(coracle::server_context&, const Boat& boat) override {
    if (boat.name().empty()) co_return coracle::status::invalid_argument("a boat needs a name");
    co_return boat;
  }
  coracle::replies<Boat> List(coracle::server_context&, const Count& count) override {
    Boat boat;
    for (int i = 0; i < count.boats(); ++i) {
      boat.set_name("boat " + std::to_string(i));
      co_yield boat;
    }
    co_return coracle::ok;
  }
  coracle::reply<Count> Store(coracle::server_context&, coracle::reader<Boat> boats) override {
    Count count;
    while (const auto boat = co_await boats.next()) count.set_boats(count.boats() + 1);
    co_return count;
  }
  coracle::replies<Boat> Paint(coracle::server_context&, coracle::reader<Boat> boats) override {
    while (auto boat = co_await boats.next()) {
      boat->set_name("red " + boat->name());
      co_yield *boat;
    }
    co_return coracle::ok;
  }
};

coracle::task<std::string> call(coracle::channel channel) {
  const shop::yard::rpc::Yard::stub stub(channel);
  Boat boat;
  const auto refused = co_await stub.Build(boat);
  boat.set_name("gig");
  boat.mutable_place()->set_kind(shop::harbour::Place::MOORING);
  boat.mutable_place()->set_size(shop::harbour::LARGE);
  (*boat.mutable_place()->mutable_boats())["gig"] = 1;
  const auto built = co_await stub.Build(boat);
  std::string said = refused.status().to_string() + '\n';
  said += built->name() + ' ' + shop::harbour::Place_Kind_Name(built->place().kind()) + ' ' +
          shop::harbour::Size_Name(built->place().size());

  Count count;
  count.set_boats(2);
  auto listed = stub.List(count);
  while (const auto one = (co_await listed.next()).value()) said += '\n' + one->name();

  auto stored = stub.Store();
  coracle::status written = co_await stored.write(boat);
  const auto stock = co_await stored.finish();
  said += '\n' + written.to_string() + ' ' + std::to_string(stock->boats());

  auto painted = stub.Paint();
  written = co_await painted.write_last(boat);
  while (const auto one = (co_await painted.next()).value()) said += '\n' + one->name();
  co_return said;
}

}  // namespace

int main() {
  coracle::testing::service_fixture<yard> fixture;
  const std::string said = coracle::sync_wait(fixture.runtime(), call(fixture.channel()));
  std::cout << said << '\n';
  return said == "INVALID_ARGUMENT: a boat needs a name\ngig MOORING LARGE\nboat 0\nboat 1\nOK 1\nred gig"
             ? 0
             : 1;
}
