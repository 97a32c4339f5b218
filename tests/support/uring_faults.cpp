#include "support/uring_faults.hpp"

#include "runtime/uring/uring_backend.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace coracle::testing_support {
namespace {

using runtime_internal::uring_faults;

struct named_fault {
  const char* name;
  bool refuses;  // disables io_uring completely
  void (*inject)(uring_faults&);
};

constexpr named_fault all_faults[] = {
    {"setup_eperm", true, [](uring_faults& f) { f.setup_error = EPERM; }},
    {"setup_enosys", true, [](uring_faults& f) { f.setup_error = ENOSYS; }},
    {"setup_enomem", true, [](uring_faults& f) { f.setup_error = ENOMEM; }},
    {"enter_eperm", true, [](uring_faults& f) { f.enter_error = EPERM; }},
    {"no_wait_timeout", true, [](uring_faults& f) { f.no_wait_timeout = true; }},
    {"no_cancel_any", true, [](uring_faults& f) { f.no_cancel_any = true; }},
    {"smallest_ring", false, [](uring_faults& f) { f.setup_error = ENOMEM, f.setups_failing = 2; }},
    {"tiny_queue", false, [](uring_faults& f) { f.submission_entries = 2; }},
    {"no_deferred_work", false, [](uring_faults& f) { f.no_deferred_work = true; }},
    {"no_registered_ring", false, [](uring_faults& f) { f.no_registered_ring = true; }},
    {"no_multishot_poll", false, [](uring_faults& f) { f.no_multishot_poll = true; }},
    {"no_poll_first", false, [](uring_faults& f) { f.no_poll_first = true; }},
    {"no_buffer_ring", false, [](uring_faults& f) { f.no_buffer_ring = true; }},
    {"no_multishot_receive", false, [](uring_faults& f) { f.no_multishot_receive = true; }},
    {"no_receive_limit", false, [](uring_faults& f) { f.no_receive_limit = true; }},
    {"no_multishot_accept", false, [](uring_faults& f) { f.no_multishot_accept = true; }},
    {"short_sends", false, [](uring_faults& f) { f.short_sends = true; }},
};

bool any = false;
bool refusing = false;

void inject(const std::string& name) {
  for (const named_fault& f : all_faults) {
    if (name != f.name) continue;
    f.inject(runtime_internal::injected_faults());
    any = true;
    refusing = refusing || f.refuses;
    return;
  }
  std::fprintf(stderr,
               "CORACLE_TEST_URING_FAULTS names %s, which tests/support/uring_faults.cpp does not know\n",
               name.c_str());
  std::exit(2);
}

class faults_of_the_environment final : public testing::Environment {
 public:
  void SetUp() override {
    const char* names = std::getenv("CORACLE_TEST_URING_FAULTS");
    std::istringstream rest(names ? names : "");
    for (std::string name; std::getline(rest, name, ',');) inject(name);
  }
};

[[maybe_unused]] const auto* const added = testing::AddGlobalTestEnvironment(new faults_of_the_environment);

}  // namespace

bool io_uring_is_to_refuse() noexcept { return refusing; }
bool io_uring_has_faults() noexcept { return any; }

}  // namespace coracle::testing_support
