// balancing_client: calls a method whose reply names the server, over a channel with a service config, for
// clients of other implementations to be compared with.
//
// Each line of its input is the value of the metadata "user" of one call, or empty for a call without it. It
// answers each line with the reply, or with the name of the status code.
#include "../../examples/command_line.hpp"
#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime.hpp"

#include <iostream>
#include <string>

namespace {

using namespace coracle;

task<std::string> ask(const generic_stub& stub, const std::string& user) {
  call_options options;
  options.wait_for_ready = true;
  if (!user.empty()) options.metadata.add("user", user);
  const bytes_message nothing;
  auto call = stub.unary("/where.Where/Ask", nothing, options);
  const auto reply = co_await call;
  if (!reply) co_return std::string(name_of(reply.status().code()));
  co_return std::string(reply->bytes());
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("balancing_client", [&] {
    const examples::command_line line(argc, argv, "TARGET SERVICE_CONFIG");
    runtime rt;
    channel_options options;
    options.service_config = service_config::parse(line.words()[1]).value();
    const channel to(rt, line.words()[0], insecure(), options);
    const generic_stub stub(to);
    for (std::string user; std::getline(std::cin, user);)
      std::cout << sync_wait(rt, ask(stub, user)) << std::endl;
    return 0;
  });
}
