// asio_fixture: an io_context that drives a runtime with an echo server and a channel to it, in one thread.
#pragma once

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio.hpp>
#else
#include <boost/asio.hpp>
#endif

#include "coracle/asio.hpp"

#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace coracle::testing_support::asio_tests {

namespace asio = asio_internal::asio;
using asio_internal::error_code;
using asio_internal::system_error;

inline echo::Text text(std::string text, int count = 0) {
  echo::Text t;
  t.set_text(std::move(text));
  t.set_count(count);
  return t;
}

// The service of the server: the echo service, or one that a test gives.
class asio_fixture : public testing::TestWithParam<world_kind> {
 public:
  static std::string case_name(const testing::TestParamInfo<world_kind>& info) { return name_of(info.param); }

  asio::io_context io{1};
  any_world kernel{GetParam()};
  echo_service echoes;
  std::optional<server> serving;
  std::optional<channel> to;
  std::optional<asio_driver> driver;

  [[nodiscard]] runtime& rt() noexcept { return *kernel.get(); }
  [[nodiscard]] loop& here() { return rt().at(0); }
  [[nodiscard]] echo_stub stub() noexcept { return echo_stub(*to); }

  // Runs the io_context until `done` is true.
  template <class Done>
  void run_until(Done done) {
    while (!done()) io.run_one();
  }

 protected:
  void SetUp() override {
    if (!kernel.get()) GTEST_SKIP() << kernel.missing();
    serve(echoes);
    driver.emplace(io, rt());
  }
  void serve(service& s) {
    serving.emplace(rt());
    serving->add(s);
    ASSERT_EQ(serving->listen("127.0.0.1:0", insecure()), status());
    to.emplace(rt(), "127.0.0.1:" + std::to_string(serving->port()), insecure());
  }
  void TearDown() override {
    driver.reset();
    to.reset();
    serving.reset();
  }
};

}  // namespace coracle::testing_support::asio_tests
