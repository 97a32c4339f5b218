// Signals to a program between its listen() and its run().
#include "support/child_program.hpp"
#include "support/every_backend.hpp"

namespace coracle::testing_support::server_lifetime_test {
namespace {

class life : public every_backend {
 protected:
  // Has called listen(), and waits for a line.
  std::unique_ptr<child_program> listening(const std::string& description) {
    auto made = std::make_unique<child_program>(
        std::vector<std::string>{"lifetime_server", description, "2", "127.0.0.1:0"},
        std::vector<std::string>{"CORACLE_BACKEND=" + name_of(GetParam())});
    EXPECT_TRUE(made->line().starts_with("listening"));
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(On, life, kernel_kinds, life::case_name);

TEST_P(life, ATerminationBeforeRunBeginsWithADrain) {
  const auto server = listening("run");
  server->signal(SIGTERM);
  server->say("go");
  EXPECT_EQ(server->end(), 0);
}

TEST_P(life, ATerminationBeforeStartEndsTheProgramThen) {
  const auto server = listening("start");
  server->signal(SIGTERM);
  server->say("go");
  EXPECT_EQ(server->end(), -SIGTERM);
}

TEST_P(life, ATerminationAfterStartEndsTheProgram) {
  const auto server = listening("start");
  server->say("go");
  server->signal(SIGTERM);
  EXPECT_EQ(server->end(), -SIGTERM);
}

TEST_P(life, AnInterruptBeforeRunEndsTheProgram) {
  const auto server = listening("run");
  server->signal(SIGINT);
  EXPECT_EQ(server->end(), -SIGINT);
}

}  // namespace
}  // namespace coracle::testing_support::server_lifetime_test
