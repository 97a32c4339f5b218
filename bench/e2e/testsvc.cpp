// bench_testsvc PORT: the server for bench_workload, and for the clients of other implementations; one loop,
// the library's defaults. It prints the port that it listens on: PORT may be 0.
#include "testsvc.coracle.hpp"

#include <coracle/server.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

void count_to(std::uint64_t last, test::TestResponse& reply) {
  reply.mutable_data()->Resize(static_cast<int>(last), 0);
  for (std::uint64_t i = 0; i < last; ++i) reply.set_data(static_cast<int>(i), i + 1);
}

class test_service final : public test::rpc::TestService::service {
  coracle::reply<test::TestResponse> TestRPC(coracle::server_context&,
                                             const test::TestRequest& request) override {
    test::TestResponse reply;
    count_to(request.test_response_sz(), reply);
    return reply;
  }
  coracle::replies<test::TestResponse> TestServerStreamRPC(coracle::server_context&,
                                                           const test::TestRequest& request) override {
    test::TestResponse reply;
    for (std::uint64_t i = 1; i <= request.test_response_sz(); ++i) {
      reply.add_data(i);
      co_yield reply;
    }
    co_return coracle::ok;
  }
  coracle::reply<test::TestResponse> TestClientStreamRPC(
      coracle::server_context&, coracle::reader<test::TestRequest> requests) override {
    std::uint64_t wanted = 0;
    test::TestRequest request;
    while (co_await requests.read(request)) wanted += request.test_response_sz();
    test::TestResponse reply;
    count_to(wanted, reply);
    co_return reply;
  }
  coracle::replies<test::TestResponse> TestBidirectionalStreamRPC(
      coracle::server_context&, coracle::reader<test::TestRequest> requests) override {
    test::TestRequest request;
    test::TestResponse reply;
    while (co_await requests.read(request)) {
      count_to(request.test_response_sz(), reply);
      co_yield reply;
    }
    co_return coracle::ok;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_testsvc PORT\n", stderr);
    return 2;
  }
  test_service tests;
  coracle::server server;
  server.add(tests);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
