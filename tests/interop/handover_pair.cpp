// handover_pair serve PATH ADDRESS... | call ADDRESS: a server that new processes replace, and a client whose
// calls must not notice. The server is configured by the environment, which its successors inherit:
//
//   HANDOVER_LOOPS      the number of loops; default 1
//   HANDOVER_GOAWAY_MS  handover_options::goaway_time; default 100
//   HANDOVER_START_MS   handover_options::start_time; default 60,000
//   HANDOVER_CERTS      a folder with server.pem and server.key: TLS; the client reads ca.pem there
//   HANDOVER_MOOD       a file that says what a successor does before it serves: "exit" or "hang"; each start
//                       reads it
//   HANDOVER_STEP_MS    the pause between two messages of a stream of the client; default 10
//   HANDOVER_LEAVE_MS   server_options::leave_time; default 0
//   HANDOVER_LATE       if it is set, the first listen() comes while the server runs, on another thread
//   HANDOVER_SECOND     "PATH ADDRESS" of a second server in the process, with a runtime of its own
//   HANDOVER_STOPS_SERVER   SIGUSR1 stops the server, not the runtime
//   HANDOVER_UNSENT     how many of its last words to a successor the kernel does not send
//
// SIGUSR1 stops the runtime of a server at once, as a program does whose other parts have failed.
//
// The client makes calls without retries until its input ends. It answers each line of its input with what it
// has made and lost so far.
#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/tls.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <semaphore>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value ? value : otherwise;
}

std::string mood() {
  std::ifstream file(variable("HANDOVER_MOOD", "/dev/null"));
  std::string text;
  file >> text;
  return text;
}

}  // namespace

// In place of the C library's: the kernel has no memory for some of the last words to a successor.
extern "C" ssize_t sendmsg(int on, const msghdr* message, int flags) {
  static std::atomic<int> unsent{std::stoi(variable("HANDOVER_UNSENT", "0"))};
  const auto* const text = message->msg_iovlen == 1 ? message->msg_iov : nullptr;
  const std::string_view words =
      text ? std::string_view(static_cast<const char*>(text->iov_base), text->iov_len) : std::string_view();
  if ((words.starts_with("refused ") || words == "done") && unsent.fetch_sub(1) > 0) {
    errno = ENOBUFS;
    return -1;
  }
  return ::syscall(SYS_sendmsg, on, message, flags);
}

namespace {

// Answers with the number of its process.
class echoing final : public echo::rpc::Echo::service {
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    echo::Text reply = request;
    co_await coracle::sleep_for(2ms);  // so that an upgrade meets calls
    reply.set_text(std::to_string(::getpid()));
    co_return reply;
  }
  coracle::replies<echo::Text> Chat(coracle::server_context&, coracle::reader<echo::Text> texts) override {
    echo::Text one;
    while (co_await texts.read(one)) co_yield one;
    co_return coracle::status();
  }
  void replaced(std::span<const coracle::net::address> given_up) noexcept override {
    std::printf("replaced %d, gives up %zu addresses\n", ::getpid(), given_up.size());
    std::fflush(stdout);
  }
  void leaving() noexcept override {
    std::printf("leaving %d\n", ::getpid());
    std::fflush(stdout);
  }
};

// Blocks the signal in all threads but its own: call it before there are others.
void stop_at_user_signal(std::function<void()> stop) {
  sigset_t user_signal;
  ::sigemptyset(&user_signal);
  ::sigaddset(&user_signal, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &user_signal, nullptr);
  std::thread([stop = std::move(stop), user_signal] {
    int number = 0;
    if (::sigwait(&user_signal, &number) == 0) stop();
  }).detach();
}

coracle::server_options options_of(const std::string& path) {
  coracle::server_options options;
  options.handover.emplace(path);
  options.handover->goaway_time = std::chrono::milliseconds(std::stoi(variable("HANDOVER_GOAWAY_MS", "100")));
  options.handover->start_time = std::chrono::milliseconds(std::stoi(variable("HANDOVER_START_MS", "60000")));
  options.leave_time = std::chrono::milliseconds(std::stoi(variable("HANDOVER_LEAVE_MS", "0")));
  return options;
}

void listen(coracle::server& server, std::span<char* const> addresses) {
  const std::string certificates = variable("HANDOVER_CERTS", "");
  coracle::server_credentials credentials = coracle::insecure();
  if (!certificates.empty()) {
    coracle::tls::server_options tls;
    tls.certificates = {
        coracle::tls::key_pair::files(certificates + "/server.pem", certificates + "/server.key")};
    credentials = tls;
  }
  for (const char* const address : addresses) {
    const coracle::status outcome = server.listen(address, credentials);
    if (outcome.ok())
      std::printf("process %d listening on 127.0.0.1:%u\n", ::getpid(), unsigned{server.port()});
    else std::printf("%s\n", outcome.to_string().c_str());
  }
  std::fflush(stdout);
}

// A server needs an address or a connection to run.
int run_before_listening(coracle::server& server, coracle::runtime& loops, std::span<char* const> addresses) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return 2;
  if (!server.adopt(ends[0], coracle::insecure()).ok()) return 2;
  std::counting_semaphore<2> runs(0);
  std::atomic<bool> has_run{false};
  struct program {
    static coracle::task<> note(std::counting_semaphore<2>& runs) {
      runs.release();
      co_return;
    }
  };
  loops.spawn(program::note(runs));
  std::thread late([&] {
    runs.acquire();
    if (!has_run) listen(server, addresses);
    ::close(ends[1]);
  });
  const int code = server.run();
  has_run = true;
  runs.release();
  late.join();
  return code;
}

// Returns when both have ended. The first one listens last: its line tells that both do.
int run_with_second(coracle::server& first, std::span<char* const> addresses_of_first,
                    const std::string& path, std::string address) {
  echoing service;
  coracle::runtime loops(1);
  coracle::server second(loops, options_of(path));
  second.add(service);
  if (!second.listen(address, coracle::insecure()).ok()) return 2;
  listen(first, addresses_of_first);
  int code_of_second = 2;
  std::thread other([&] { code_of_second = second.run(); });
  const int code = first.run();
  other.join();
  return code + code_of_second;
}

int serve(int count, char** words) {
  const std::string what = mood();
  if (what == "exit") return 3;
  if (what == "hang")
    std::this_thread::sleep_for(1h);  // sleeps on purpose: a program that hangs at its start
  echoing service;
  coracle::runtime loops(static_cast<std::size_t>(std::stoi(variable("HANDOVER_LOOPS", "1"))));
  coracle::server server(loops, options_of(words[0]));
  const bool stops_server = std::getenv("HANDOVER_STOPS_SERVER") != nullptr;
  stop_at_user_signal([&loops, &server, stops_server] { stops_server ? server.stop() : loops.stop(); });
  server.add(service);
  const std::span<char* const> addresses(words + 1, static_cast<std::size_t>(count - 1));
  std::istringstream second(variable("HANDOVER_SECOND", ""));
  std::string path;
  std::string address;
  int code = 0;
  if (std::getenv("HANDOVER_LATE")) {
    code = run_before_listening(server, loops, addresses);
  } else if (second >> path >> address) {
    code = run_with_second(server, addresses, path, address);
  } else {
    listen(server, addresses);
    code = server.run();
  }
  std::printf("process %d has ended with %d\n", ::getpid(), code);
  std::fflush(stdout);
  return code;
}

// What the callers, on the channel's thread, report to the reader.
struct tally {
  std::atomic<int> calls{0};
  std::atomic<int> streams{0};
  std::atomic<int> connections{0};
  std::atomic<int> lost{0};
  std::atomic<int> answered_by{0};  // the last process
  std::atomic<bool> over{false};
  std::atomic<int> running{0};
  void lose(const char* what, const coracle::status& why) {
    ++lost;
    std::fprintf(stderr, "lost: %s: %s\n", what, why.to_string().c_str());
  }
};

coracle::channel_credentials credentials() {
  const std::string certificates = variable("HANDOVER_CERTS", "");
  if (certificates.empty()) return coracle::insecure();
  coracle::tls::client_options tls;
  tls.cas = {coracle::tls::pem_source::file(certificates + "/ca.pem")};
  return tls;
}

coracle::task<> call_until_over(echo::rpc::Echo::stub server, tally& t) {
  for (int i = 0; !t.over; ++i) {
    echo::Text request;
    request.set_count(i);
    const auto reply = co_await server.Say(request);
    if (!reply || reply->count() != i) t.lose("a call", reply.status());
    else t.answered_by = std::stoi(reply->text());
    ++t.calls;
  }
  --t.running;
}

// Each stream lasts longer than an upgrade sends GOAWAYs.
coracle::task<> stream_until_over(echo::rpc::Echo::stub server, tally& t) {
  const auto step = std::chrono::milliseconds(std::stoi(variable("HANDOVER_STEP_MS", "10")));
  while (!t.over) {
    auto chat = server.Chat();
    echo::Text text;
    int answers = 0;
    for (int i = 0; i < 20; ++i) {
      text.set_count(i);
      const coracle::status sent = co_await chat.write(text);
      if (!sent.ok()) break;
      const auto answer = co_await chat.next();
      if (!answer.ok() || !*answer || (*answer)->count() != i) break;
      ++answers;
      co_await coracle::sleep_for(step);
    }
    const coracle::status end = co_await chat.finish();
    if (answers != 20 || !end.ok()) t.lose("a stream", end);
    ++t.streams;
  }
  --t.running;
}

// A new connection for each call.
coracle::task<> connect_until_over(std::string address, tally& t) {
  while (!t.over) {
    const coracle::channel fresh(coracle::loop::current()->owner(), address, credentials());
    const echo::rpc::Echo::stub server(fresh);
    const echo::Text request;
    const auto reply = co_await server.Say(request);
    if (!reply) t.lose("a connection", reply.status());
    ++t.connections;
  }
  --t.running;
}

void report(const tally& t) {
  std::printf("calls %d streams %d connections %d lost %d by %d\n", t.calls.load(), t.streams.load(),
              t.connections.load(), t.lost.load(), t.answered_by.load());
  std::fflush(stdout);
}

int call(const std::string& address) {
  coracle::runtime loops;
  std::vector<coracle::channel> channels;
  tally t;
  for (int i = 0; i < 4; ++i) {
    const coracle::channel& one = channels.emplace_back(loops, address, credentials());
    t.running += 2;
    loops.spawn(call_until_over(echo::rpc::Echo::stub(one), t));
    loops.spawn(stream_until_over(echo::rpc::Echo::stub(one), t));
  }
  ++t.running;
  loops.spawn(connect_until_over(address, t));
  loops.start();
  for (std::string line; std::getline(std::cin, line);) report(t);
  t.over = true;
  while (t.running > 0) std::this_thread::sleep_for(1ms);  // sleeps on purpose: until the last call has ended
  report(t);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view role = count > 2 ? words[1] : "";
  if (role == "serve" && count > 3) return serve(count - 2, words + 2);
  if (role == "call" && count == 3) return call(words[2]);
  std::fputs("handover_pair serve PATH ADDRESS... | call ADDRESS\n", stderr);
  return 2;
}
