// greeter_client: one blocking call from a plain thread.
#include "../command_line.hpp"
#include "greeter.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  return examples::run("greeter_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS [NAME]");
    // [call]
    coracle::channel channel(line.words().front(), coracle::insecure());
    const helloworld::rpc::Greeter::stub greeter(channel);
    helloworld::HelloRequest request;
    request.set_name(line.words().size() > 1 ? line.words()[1] : "world");
    const auto reply =
        coracle::sync_wait(greeter.SayHello(request, coracle::within(std::chrono::seconds(20))));
    // value() throws the status when there is no reply.
    std::printf("%s\n", examples::printable(reply.value().message()).c_str());
    // [/call]
    return 0;
  });
}
