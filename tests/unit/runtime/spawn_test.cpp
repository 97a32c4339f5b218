#include "coracle/runtime/spawn.hpp"

#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include "coracle/coro/event.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace coracle::spawn_test {
namespace {

using test::expect_misuse;
using testing_support::all_kinds;

class Spawn : public testing_support::every_backend {
 protected:
  Spawn() : every_backend(2) {}
};
INSTANTIATE_TEST_SUITE_P(On, Spawn, all_kinds, Spawn::case_name);

task<> fill(const loop*& ran_on, event<>& done) {
  ran_on = loop::current();
  done.set();
  co_return;
}
task<> spawn_one() {
  const loop* ran_on = nullptr;
  event<> done;
  spawn(fill(ran_on, done));
  EXPECT_EQ(ran_on, nullptr) << "the task began inside spawn()";
  co_await done;
  EXPECT_EQ(ran_on, loop::current());
}

TEST_P(Spawn, StartsATaskOnTheCurrentLoopLater) {
  for (std::size_t i = 0; i < rt().size(); ++i) sync_wait(rt(), rt().at(i), spawn_one());
}

task<> fail() {
  throw std::runtime_error("no luck");
  co_return;
}
task<> spawn_with_a_handler() {
  event<std::string> failure;
  spawn(fail(), [&](std::exception_ptr e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::runtime_error& thrown) {
      failure.set(thrown.what());
    }
  });
  const std::string& text = co_await failure;
  EXPECT_EQ(text, "no luck");
}

TEST_P(Spawn, PassesAnExceptionToItsErrorHandler) { run(spawn_with_a_handler()); }

task<> spawn_a_function() {
  event<int> sum;
  spawn(
      [](event<int>& to, int a, int b) -> task<> {
        to.set(a + b);
        co_return;
      },
      std::ref(sum), 2, 3);
  const int& value = co_await sum;
  EXPECT_EQ(value, 5);
}

TEST_P(Spawn, TakesAFunctionAndItsArguments) { run(spawn_a_function()); }

TEST_P(Spawn, IsAnErrorOnAThreadWithoutALoop) {
  const loop* ran_on = nullptr;
  event<> done;
  expect_misuse([&] { spawn(fill(ran_on, done)); }, "use runtime::spawn()");
}

}  // namespace
}  // namespace coracle::spawn_test
