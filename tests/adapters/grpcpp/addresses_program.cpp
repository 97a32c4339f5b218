// A program in the API of grpc++, compiled with both libraries: the addresses of servers, and what the two
// sides are told of each other's. It prints "case: what".
//
//   addresses_program alone FOLDER     with a folder in which it makes sockets; both sides in one process
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace call_kinds::addresses {
namespace {

// Ports of the system become "#", and the folder of the test "FOLDER".
std::string folder;
std::string without_numbers(std::string text) {
  if (const auto at = text.find(folder); at != text.npos) text.replace(at, folder.size(), "FOLDER");
  const auto colon = text.rfind(':');
  const bool is_port = colon != text.npos && colon + 1 < text.size() &&
                       std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(),
                                   [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_port ? text.substr(0, colon + 1) + "#" : text;
}

std::string with_port(std::string text, int port) {
  if (const auto at = text.find('#'); at != text.npos) text.replace(at, 1, std::to_string(port));
  return text;
}

// What a client of `target` sees: the status, the address of the client, and that of the server.
std::string seen(const std::string& target) {
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  Reply reply;
  const auto s = CallKinds::NewStub(channel)->Unary(&context, query("address"), &reply);
  if (!s.ok()) return std::to_string(s.error_code());
  return without_numbers(reply.name()) + " to " + without_numbers(context.peer());
}

std::string shown_port(int port) { return port > 1 ? "a port" : std::to_string(port); }

struct listening {
  std::unique_ptr<grpc::Server> server;
  std::vector<int> ports;
  [[nodiscard]] std::string shown() const {
    std::string all = server ? "built" : "null";
    for (const int port : ports) all += " " + shown_port(port);
    return all;
  }
};

call_kinds_service& service() {
  static auto& only = *new call_kinds_service;
  return only;
}

// "#" in an address is the port that was selected for the first one.
listening listen(const std::vector<std::string>& addresses, bool share = true, int port = 0) {
  listening made;
  made.ports.assign(addresses.size(), -1);
  grpc::ServerBuilder builder;
  if (!share) builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  for (std::size_t i = 0; i < addresses.size(); ++i)
    builder.AddListeningPort(with_port(addresses[i], port), grpc::InsecureServerCredentials(),
                             &made.ports[i]);
  builder.RegisterService(&service());
  made.server = builder.BuildAndStart();
  return made;
}

// A port that was free a moment ago.
int free_port() {
  const auto made = listen({"0.0.0.0:0"});
  return made.ports[0];
}

const char* const v4 = "127.0.0.1:#";
const char* const v6 = "[::1]:#";

void wildcards() {
  std::string machine(256, '\0');
  ::gethostname(machine.data(), machine.size() - 1);
  machine.resize(machine.find('\0'));
  say("listening on the name of the machine", listen({machine + ":0"}).shown());
  for (const char* const address :
       {"127.0.0.1:0", "[::1]:0", "localhost:0", "0.0.0.0:0", "[::]:0", "*:0", "dns:localhost:0",
        "dns:///localhost:0", "dns:///0.0.0.0:0", "[::ffff:127.0.0.1]:0", "[0:0:0:0:0:0:0:0]:0"}) {
    const auto made = listen({address});
    say(std::string("listening on ") + address, made.shown());
    if (!made.server) continue;
    say(std::string("by IPv4 to ") + address, seen(with_port(v4, made.ports[0])));
    // The original resolves localhost, and some machines do not give it an address of IPv6.
    if (std::string(address).find("localhost") == std::string::npos)
      say(std::string("by IPv6 to ") + address, seen(with_port(v6, made.ports[0])));
  }
}

void faults() {
  for (const char* const address : {"", ":0", "nowhere", "nowhere.invalid:0", "127.0.0.1:-1", "127.0.0.1:x",
                                    "[::1", "192.0.2.1:0", "what:ever:0"})
    say(std::string("refused ") + address, listen({address}).shown());
}

void twice() {
  const std::vector<std::vector<std::string>> all = {{"127.0.0.1:#", "127.0.0.1:#"},
                                                     {"0.0.0.0:#", "[::]:#"},
                                                     {"[::]:#", "0.0.0.0:#"},
                                                     {"localhost:#", "127.0.0.1:#"},
                                                     {"127.0.0.1:#", "localhost:#"},
                                                     {"0.0.0.0:#", "127.0.0.1:#"},
                                                     {"127.0.0.1:#", "0.0.0.0:#"},
                                                     {"[::]:#", "[::1]:#"},
                                                     {"*:#", "0.0.0.0:#"},
                                                     {"[::1]:#", "127.0.0.1:#"},
                                                     {"*:#", "[::]:#"}};
  for (const auto& addresses : all) {
    const std::string name = addresses[0] + " and " + addresses[1];
    for (const bool share : {true, false}) {
      const int port = free_port();
      const auto made = listen(addresses, share, port);
      const std::string what = share ? "shared, in one server, " : "not shared, in one server, ";
      say(what + name, made.shown());
      if (!made.server) continue;
      say("by IPv4, " + what + name, seen(with_port(v4, port)));
      if (name.find("localhost") == std::string::npos)
        say("by IPv6, " + what + name, seen(with_port(v6, port)));
    }
    const int port = free_port();
    const auto first = listen({addresses[0]}, true, port);
    const auto second = listen({addresses[1]}, true, port);
    say("in two servers, " + name, first.shown(), second.shown());
    first.server->Shutdown();
    if (second.server) say("by IPv4, of two servers one is left, " + name, seen(with_port(v4, port)));
    const auto third = listen({addresses[1]}, false, port);
    say("beside one that is shared, " + name, third.shown());
  }
}

void unix_sockets() {
  const std::string path = folder + "/socket";
  for (const std::string& address : {"unix:" + path, "unix://" + path, "unix-abstract:" + path.substr(1)}) {
    const auto made = listen({address});
    say("listening on " + address.substr(0, address.find(':') + 3), made.shown());
    if (!made.server) continue;
    say("seen by " + address.substr(0, address.find(':') + 3), seen(address));
    const auto again = listen({address});
    say("a second one at " + address.substr(0, address.find(':') + 3), again.shown());
  }
  const auto both = listen({"unix:" + path, "127.0.0.1:0"});
  say("a UNIX socket and a port", both.shown(), seen("unix:" + path), seen(with_port(v4, both.ports[1])));
  const auto server = listen({"127.0.0.1:0"});
  grpc::ClientContext context;
  Reply reply;
  const auto stub = CallKinds::NewStub(server.server->InProcessChannel(grpc::ChannelArguments()));
  const auto s = stub->Unary(&context, query("address"), &reply);
  say("addresses within a process", s.error_code(), reply.name(), "to", context.peer());
}

int run_alone(const std::string& in) {
  folder = in;
  wildcards();
  faults();
  twice();
  unix_sockets();
  return 0;
}

const program entry("addresses", {{"alone", "FOLDER", run_alone}});

}  // namespace
}  // namespace call_kinds::addresses
