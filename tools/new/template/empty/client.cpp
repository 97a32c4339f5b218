// project_name_client [ADDRESS]: connects to the server. Call your methods through the stub.
#include "project_name.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

int main(int argc, char** argv) {
  try {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
    coracle::runtime runtime;
    coracle::channel channel(runtime, address, coracle::insecure());
    [[maybe_unused]] const project_name::rpc::Greeter::stub greeter(channel);
    channel.connect();
    while (channel.state() != coracle::connectivity::ready)
      if (!coracle::sync_wait(runtime,
                              channel.wait_for_state_change(channel.state(), std::chrono::seconds(10))))
        throw std::runtime_error("no connection to " + address + " within 10 s");
    std::printf("connected to %s\n", address.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "project_name_client: %s\n", error.what());
    return 1;
  }
}
