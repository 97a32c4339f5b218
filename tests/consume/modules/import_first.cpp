// The modules, and the headers of the same names after them.
import coracle;
import shop.yard;

#include "yard.coracle.fake.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>
#include <coracle/testing.hpp>

#include <iostream>
#include <string>

namespace {

coracle::task<std::string> text_of(coracle::status status) {
  co_await coracle::yield();
  co_return status.to_string();
}

}  // namespace

int main() {
  coracle::testing::service_fixture<shop::yard::rpc::YardFake> yard;
  shop::yard::Boat boat;
  boat.set_name("gig");
  yard.service().on.Build.returns(boat);
  const shop::yard::rpc::Yard::stub stub(yard.channel());
  const auto built = coracle::sync_wait(stub.Build(boat));
  const std::string said = coracle::sync_wait(yard.runtime(), text_of(coracle::status::not_found("no boat")));
  std::cout << said << '\n';
  return built && built->name() == "gig" && said == "NOT_FOUND: no boat" ? 0 : 1;
}
