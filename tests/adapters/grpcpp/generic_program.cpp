// A program in the API of grpc++, compiled with both libraries: a server whose methods are those of generated
// code and those of an AsyncGenericService, requested by one queue, and a client. Both go through the same
// cases in the same order, and print what they see in each as "case: what".
//
//   generic_program server           prints its address, and serves each case once
//   generic_program client PORT
#include "generic_cases.hpp"

#include <string>
#include <vector>

namespace call_kinds::generic {
namespace {

std::vector<cases> all_cases() { return {unary_cases(), stream_cases(), end_cases()}; }

int run_server() {
  serving s;
  const int port = s.start([&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.service);
    builder.RegisterAsyncGenericService(&s.generic);
  });
  const int second_port = s.start_second([&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.synchronous);
    builder.RegisterAsyncGenericService(&s.second_generic);
  });
  return serve_cases(s, port, second_port, all_cases());
}

int run_client(const std::string& port) { return call_cases(port, all_cases()); }

const program entry("generic", {{"server", run_server}, {"client", "PORT", run_client}});

}  // namespace
}  // namespace call_kinds::generic
