// Hangs on purpose: the test runner must end it, and its log must name what the task waited for (hang.py).
#include "support/every_backend.hpp"

#include "coracle/coro/event.hpp"

#include <gtest/gtest.h>

namespace coracle {
namespace {

class PlantedHang : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, PlantedHang, testing_support::kernel_kinds, PlantedHang::case_name);

task<> wait_for_nobody() {
  event<> never_set;
  co_await never_set;
}

TEST_P(PlantedHang, IsEndedByTheRunner) { run(wait_for_nobody()); }

}  // namespace
}  // namespace coracle
