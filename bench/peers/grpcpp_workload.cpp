// bench_grpcpp_workload PORT smol|big|req|resp|bidi SECONDS [blocking|queue|callback|asio-grpc]: the
// same as bench_workload, on grpc++; asio-grpc: by coroutines on asio-grpc's API.
#include "peers/grpcpp_workload.hpp"
#include "e2e/clocks.hpp"

#include <memory>
#include <string_view>
#include <thread>

namespace bench {
namespace {

int req(stub& to) {
  const test::TestRequest request = small_request();
  grpc::ClientContext context;
  test::TestResponse reply;
  const auto call = to.TestClientStreamRPC(&context, &reply);
  for (int i = 0; i < small_messages; ++i)
    if (!call->Write(request)) fail("a stream has broken");
  call->WritesDone();
  expect_ok(call->Finish());
  expect_numbers(reply, small_messages);
  return small_messages;
}

int resp(stub& to) {
  grpc::ClientContext context;
  const auto call = to.TestServerStreamRPC(&context, small_request(small_messages));
  test::TestResponse reply;
  int count = 0;
  while (call->Read(&reply)) expect_numbers(reply, ++count);
  expect_ok(call->Finish());
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

int bidi(stub& to) {
  grpc::ClientContext context;
  const auto call = to.TestBidirectionalStreamRPC(&context);
  std::thread writing([&] {
    const test::TestRequest request = small_request();
    for (int i = 0; i < small_messages; ++i)
      if (!call->Write(request)) fail("a stream has broken");
    call->WritesDone();
  });
  test::TestResponse reply;
  int count = 0;
  for (; call->Read(&reply); ++count) expect_numbers(reply, 1);
  writing.join();
  expect_ok(call->Finish());
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

}  // namespace

const workloads blocking_workloads{{"smol", [](stub& to) { return queue_workloads.at("smol")(to); }},
                                   {"big", [](stub& to) { return queue_workloads.at("big")(to); }},
                                   {"req", req},
                                   {"resp", resp},
                                   {"bidi", bidi}};

}  // namespace bench

int main(int argc, char** argv) {
  const std::map<std::string_view, const bench::workloads*> apis{{"blocking", &bench::blocking_workloads},
                                                                 {"queue", &bench::queue_workloads},
                                                                 {"callback", &bench::callback_workloads},
                                                                 {"asio-grpc", &bench::agrpc_workloads}};
  const auto api = argc == 4 || argc == 5 ? apis.find(argc == 5 ? argv[4] : "blocking") : apis.end();
  if (api == apis.end() || !api->second->count(argv[2])) {
    std::fputs(
        "usage: bench_grpcpp_workload PORT smol|big|req|resp|bidi SECONDS "
        "[blocking|queue|callback|asio-grpc]\n",
        stderr);
    return 2;
  }
  const auto play = api->second->at(argv[2]);
  const auto to = test::TestService::NewStub(
      grpc::CreateChannel(std::string("127.0.0.1:") + argv[1], grpc::InsecureChannelCredentials()));
  const double for_seconds = std::atof(argv[3]);
  // The first round connects and warms up, and does not count.
  play(*to);
  const double began = now_seconds();
  const double cpu_before = cpu_seconds();
  long messages = 0;
  while (now_seconds() - began < for_seconds) messages += play(*to);
  std::printf("%ld %.6f %.6f\n", messages, now_seconds() - began, cpu_seconds() - cpu_before);
}
