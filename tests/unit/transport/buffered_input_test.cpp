// Data that io_uring holds for a connection that does not read is charged to the server's memory.
#include "transport/exchange.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/net/stream.hpp"
#include "net/acceptor.hpp"
#include "net/socket_duplex.hpp"
#include "support/every_backend.hpp"
#include "support/http2/frames.hpp"

#include <gtest/gtest.h>

#include <sys/ioctl.h>
#include <memory>
#include <string>
#include <utility>

namespace coracle::transport::buffered_input_test {
namespace {

using namespace std::chrono_literals;
namespace frames = http2::test::frames;

class taken_handle final : public net::acceptor_sink {
 public:
  event<> changed;
  runtime_internal::handle handle = runtime_internal::no_handle;

 private:
  void accepted(runtime_internal::handle connection) noexcept override {
    handle = connection;
    changed.set();
  }
  void accept_failed(status reason) noexcept override { ADD_FAILURE() << reason; }
  void closed() noexcept override { changed.set(); }
};

struct slow_decode final : deferred_decode {
  bool continue_decoding() noexcept override {
    decode_budget::here().charge(decode_budget::share_bytes);
    return !may_end;
  }
  bool may_end = false;
};

// Its first call makes the connection wait for the decode budget.
struct waiting_server final : connection_owner, request_acceptor, exchange_handler {
  std::unique_ptr<connection> kept;
  exchange x;
  slow_decode slow;
  std::size_t told_bytes = 0;
  std::size_t data_bytes = 0;

  void on_memory(connection&, std::size_t bytes) noexcept override { told_bytes = bytes; }
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange of, header_source& fields, bool) override {
    field f;
    while (fields.next(f)) {
    }
    x = of;
    x.set_handler(this);
    x.defer(slow);
  }
  void on_headers(header_source&, block_kind, bool) override {}
  void on_data(bytes_view bytes, bool) override { data_bytes += bytes.size(); }
  void on_writable() override {}
  void on_reset(const abnormal_end&) noexcept override { x.release(); }
};

task<> hold() {
  loop& here = *loop::current();
  taken_handle taken;
  const auto listening = net::acceptor::open(here, net::address::loopback_v4(0)).value();
  listening->start(taken);
  auto connected = co_await net::stream::connect(listening->local_address());
  net::stream& client = connected.value();
  co_await taken.changed;
  waiting_server s;
  auto socket = net::make_socket_duplex(here, taken.handle);
  const net::duplex& line = *socket;
  s.kept = std::make_unique<connection>(here, std::move(socket), role::server, connection_options{}, s, &s);
  s.kept->start();
  const std::string begin = frames::from_client() + frames::request(1);
  EXPECT_TRUE((co_await client.write(as_bytes(begin))).ok());
  while (!s.x) co_await sleep_for(1ms);
  std::string more;
  std::size_t data_bytes = 0;
  for (; data_bytes < 96'000; data_bytes += 16'000) more += frames::data(1, std::string(16'000, 'x'));
  EXPECT_TRUE((co_await client.write(as_bytes(more))).ok());
  int in_kernel = 0;
  do {
    co_await sleep_for(1ms);
    EXPECT_EQ(::ioctl(taken.handle, FIONREAD, &in_kernel), 0);
  } while (static_cast<std::size_t>(in_kernel) + line.memory_bytes() < more.size());
  co_await sleep_for(1ms);  // sleeps on purpose: the account is looked at when the iteration ends
  constexpr std::size_t step_bytes = 4096;
  EXPECT_EQ(s.data_bytes, 0u);
  EXPECT_GE(s.told_bytes + step_bytes, line.memory_bytes());
  s.slow.may_end = true;
  while (s.data_bytes < data_bytes) co_await sleep_for(1ms);
  co_await sleep_for(1ms);  // sleeps on purpose: the account is looked at when the iteration ends
  EXPECT_EQ(line.memory_bytes(), 0u);
  EXPECT_LT(s.told_bytes, 16'000u);
  s.kept->close(error_code::no_error, "enough");
  client.close();
  while (s.kept) co_await sleep_for(1ms);
  taken.changed.reset();
  listening->close();
  co_await taken.changed;
}

class held_input : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, held_input, testing_support::kernel_kinds, held_input::case_name);

TEST_P(held_input, CountsForTheMemoryOfTheServer) { run(hold()); }

}  // namespace
}  // namespace coracle::transport::buffered_input_test
