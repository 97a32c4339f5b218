// A server whose listening sockets the service manager opens: a real program, started as a manager does it.
#include "support/child_program.hpp"
#include "support/echo_fixture.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <filesystem>

namespace coracle::testing_support::activation_test {
namespace {

// The socket of the manager.
class open_socket {
 public:
  explicit open_socket(int family, int type = SOCK_STREAM)
      : descriptor(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  open_socket(const open_socket&) = delete;
  open_socket& operator=(const open_socket&) = delete;
  ~open_socket() { ::close(descriptor); }
  // On a loopback port that the system chooses.
  std::string listen_on_a_port() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const raw = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(descriptor, raw, size), 0);
    EXPECT_EQ(::listen(descriptor, 16), 0);
    EXPECT_EQ(::getsockname(descriptor, raw, &size), 0);
    return "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  std::string listen_at(const std::filesystem::path& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path.string().copy(at.sun_path, sizeof at.sun_path - 1);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(descriptor, 16), 0);
    return "unix:" + path.string();
  }
  const int descriptor;
};

class activated : public every_backend {
 protected:
  // LISTEN_PID is the process id of the program, which the shell knows before it executes the program.
  static constexpr const char* own_number = "LISTEN_PID=$$ exec \"$0\" \"$@\"";
  [[nodiscard]] std::vector<std::string> variables(std::vector<std::string> more) const {
    more.push_back("CORACLE_BACKEND=" + name_of(GetParam()));
    return more;
  }
  static std::vector<std::string> command(std::vector<std::string> arguments,
                                          const char* script = own_number) {
    std::vector<std::string> words{"/bin/sh", "-c", script, program_path("lifetime_server")};
    for (std::string& a : arguments) words.push_back(std::move(a));
    return words;
  }
  // Over a connection of its own.
  status call(const std::string& address) {
    channel to(rt(), address, insecure());
    echo::Text request;
    request.set_text("hello");
    return sync_wait(echo_stub(to).Say(request, within(std::chrono::seconds(20)))).status();
  }
  // Returns the error message of the program when it inherits this descriptor.
  std::string refusal(const std::vector<int>& descriptors,
                      const std::string& address = "systemd:", const char* script = own_number) {
    child_program server(command({"run", "1", address}, script),
                         variables({"LISTEN_FDS=" + std::to_string(descriptors.size())}), descriptors);
    std::string output = server.line();
    EXPECT_EQ(server.end(), 1);
    return output;
  }
};
INSTANTIATE_TEST_SUITE_P(On, activated, kernel_kinds, activated::case_name);

TEST_P(activated, ServesOnAllItsLoopsAndLeavesTheSocketToTheManager) {
  open_socket tcp(AF_INET);
  const std::string address = tcp.listen_on_a_port();
  child_program server(command({"run", "3", "systemd:"}), variables({"LISTEN_FDS=1"}), {tcp.descriptor});
  EXPECT_EQ("listening on " + address.substr(address.find(':') + 1), server.line());
  server.say("go");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(call(address), status());
  server.signal(SIGTERM);
  EXPECT_EQ(server.end(), 0);

  child_program next(command({"run", "1", "systemd:"}), variables({"LISTEN_FDS=1"}), {tcp.descriptor});
  next.say("go");
  EXPECT_EQ(call(address), status());
}

TEST_P(activated, AnInheritedPathStaysWhenTheServerEnds) {
  const net::scratch_folder folder;
  const std::filesystem::path path = folder / "socket";
  open_socket local(AF_UNIX);
  const std::string address = local.listen_at(path);
  for (int round = 0; round < 2; ++round) {
    child_program server(command({"run", "2", "systemd:"}), variables({"LISTEN_FDS=1"}), {local.descriptor});
    server.say("go");
    EXPECT_EQ(call(address), status());
    server.signal(SIGTERM);
    EXPECT_EQ(server.end(), 0);
    EXPECT_TRUE(std::filesystem::is_socket(path));
  }
}

TEST_P(activated, ChoosesByNameAndMayShareASocket) {
  open_socket one(AF_INET);
  open_socket two(AF_INET);
  one.listen_on_a_port();
  const std::string address = two.listen_on_a_port();
  child_program server(command({"run", "1", "systemd:grpc", "systemd:grpc"}),
                       variables({"LISTEN_FDS=2", "LISTEN_FDNAMES=admin:grpc"}),
                       {one.descriptor, two.descriptor});
  EXPECT_EQ("listening on " + address.substr(address.find(':') + 1), server.line());
  server.say("go");
  EXPECT_EQ(call(address), status());
}

TEST_P(activated, SocketsForAnotherProcessAreRefused) {
  open_socket tcp(AF_INET);
  tcp.listen_on_a_port();
  EXPECT_THAT(refusal({tcp.descriptor}, "systemd:", "LISTEN_PID=1 exec \"$0\" \"$@\""),
              ::testing::HasSubstr("must exec the program"));
}

TEST_P(activated, WhatIsNoListeningStreamSocketIsRefused) {
  const open_socket datagrams(AF_INET, SOCK_DGRAM);
  EXPECT_THAT(refusal({datagrams.descriptor}), ::testing::HasSubstr("set ListenStream= in the socket unit"));
  const open_socket deaf(AF_INET);
  EXPECT_THAT(refusal({deaf.descriptor}), ::testing::HasSubstr("set Accept=no in the socket unit"));
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  EXPECT_THAT(refusal({pipe[0]}), ::testing::HasSubstr("set ListenStream= in the socket unit"));
  for (const int end : pipe) ::close(end);
}

TEST_P(activated, AProgramStartedByHandSaysWhatIsMissing) {
  EXPECT_THAT(refusal({}), ::testing::HasSubstr("LISTEN_FDS"));
  child_program server(command({"run", "1", "systemd:"}), variables({}));
  EXPECT_THAT(server.line(), ::testing::HasSubstr("socket unit"));
  EXPECT_EQ(server.end(), 1);
}

TEST_P(activated, BySystemdsOwnTool) {
  const std::string tool = "/usr/bin/systemd-socket-activate";
  ASSERT_TRUE(std::filesystem::exists(tool)) << "apt-get install systemd";
  const net::scratch_folder folder;
  const std::string path = folder / "socket";
  child_program server({tool, "--setenv=CORACLE_BACKEND", "--fdname=grpc", "--listen=" + path,
                        program_path("lifetime_server"), "run", "1", "systemd:grpc"},
                       variables({}));
  server.say("go");
  std::string output = server.line();
  while (!output.empty() && output.find("istening on") == std::string::npos) output = server.line();
  EXPECT_EQ(call("unix:" + path), status());
  server.signal(SIGTERM);
  EXPECT_EQ(server.end(), 0);
}

}  // namespace
}  // namespace coracle::testing_support::activation_test
