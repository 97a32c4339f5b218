// Classes of a program that is compiled with -fno-rtti, as this file is, in the hands of the library: it must
// not ask them for their types.
#include "telemetry/otlp/log_outlet.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/byte_stream.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/telemetry/otlp_logger.hpp"
#include "net/byte_stream_duplex.hpp"
#include "support/every_backend.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal::without_rtti_test {
namespace {

#if defined(__cpp_rtti) && !defined(CORACLE_TEST_HAS_RTTI)
#error "this file is to be compiled with -fno-rtti (tests/unit.cmake)"
#endif

class own_logger final : public logger {
 public:
  std::string text;

 protected:
  void record(log_level, std::string_view message) noexcept override { text += message; }
};

TEST(WithoutRtti, ALoggerIsToldFromThoseThatExport) {
  own_logger own;
  otlp_logger exported;
  fan_out_logger all({&own, &exported});
  EXPECT_THAT(exporting_loggers(own), testing::IsEmpty());
  EXPECT_THAT(exporting_loggers(all), testing::ElementsAre(&exported));
  log_without_export rest(all);
  rest.in(log_room::telemetry).warning("the collector is gone");
  EXPECT_EQ(own.text, "the collector is gone");
}

class own_stream final : public net::byte_stream {
 public:
  explicit own_stream(int& closes) : closes_(closes) {}
  task<result<std::size_t>> read(mutable_bytes) override { co_return status::unavailable("no bytes"); }
  task<status> write(bytes_view) override { co_return status(); }
  task<status> shutdown_send() override { co_return status(); }
  void close(bool) noexcept override { ++closes_; }

 private:
  int& closes_;
};

task<> over_own_stream(int& closes) {
  const auto made = net::make_duplex(*loop::current(), std::make_unique<own_stream>(closes));
  EXPECT_TRUE(made.ok());
  co_return;
}

TEST(WithoutRtti, AByteStreamIsToldFromASocket) {
  testing_support::any_world world{testing_support::world_kind::sim};
  int closes = 0;
  sync_wait(*world.get(), world.get()->at(0), over_own_stream(closes));
  EXPECT_EQ(closes, 1);
}

}  // namespace
}  // namespace coracle::telemetry_internal::without_rtti_test
