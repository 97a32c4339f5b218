// Operations that begin on the loop of one thread while another thread takes the loop over.
#include "coracle/net/stream.hpp"

#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace coracle::net::loop_handover_test {
namespace {

class HandOver : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, HandOver, testing_support::kernel_kinds, HandOver::case_name);

// The first action of the loop on its new thread: it checks I/O afterwards.
TEST_P(HandOver, AConnectAsTheFirstThingOnANewThreadReallyConnects) {
  listener waiting = [&] {
    return run([]() -> task<listener> { co_return listener::open(address::loopback_v4(0)).value(); }());
  }();
  auto leaves_at_once = []() -> task<> { co_return; };
  rt().spawn(leaves_at_once());
  rt().run();
  auto talk = [](listener& to) -> task<> {
    result<stream> client = co_await stream::connect(to.local_address());
    result<stream> server = co_await to.accept();
    const status sent = co_await client->write(as_bytes("hello"));
    EXPECT_EQ(sent, status());
    const std::string got = co_await read_text(*server, 5);
    EXPECT_EQ(got, "hello");
    co_await to.close();
  };
  std::thread other([&] {
    rt().spawn_on(rt().at(0), talk(waiting));
    rt().run();
  });
  other.join();
}

TEST_P(HandOver, AConnectToNobodyOnANewThreadIsRefused) {
  address nobody;
  {
    listener gone =
        run([]() -> task<listener> { co_return listener::open(address::loopback_v4(0)).value(); }());
    nobody = gone.local_address();
    run([](listener& l) -> task<> { co_await l.close(); }(gone));
  }
  rt().spawn([]() -> task<> { co_return; }());
  rt().run();
  auto try_it = [](address to) -> task<> {
    const result<stream> refused = co_await stream::connect(std::move(to));
    EXPECT_EQ(refused.status().code(), status_code::unavailable);
  };
  std::thread other([&] {
    rt().spawn_on(rt().at(0), try_it(nobody));
    rt().run();
  });
  other.join();
}

}  // namespace
}  // namespace coracle::net::loop_handover_test
