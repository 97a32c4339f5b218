// What programs of cases share: how they print a case, a server that serves until SIGTERM, and how they are
// run. Compiled with both libraries.
#pragma once

#include "call_kinds.pb.h"
#include "call_kinds_service.hpp"

#include <grpcpp/grpcpp.h>

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace call_kinds {

template <class... Parts>
void say(const std::string& name, const Parts&... parts) {
  std::cout << name << ":";
  ((std::cout << " " << parts), ...);
  std::cout << std::endl;
}

inline std::string shown(const grpc::Status& s) {
  std::string all = std::to_string(s.error_code());
  if (!s.error_message().empty()) all += " '" + s.error_message() + "'";
  for (std::size_t at = 0; (at = all.find('\n', at)) != all.npos; at += 2) all.replace(at, 1, "\\n");
  if (!s.error_details().empty()) all += " [" + s.error_details() + "]";
  return all;
}

// The pairs that the program itself has sent.
inline std::string own(const std::multimap<grpc::string_ref, grpc::string_ref>& pairs) {
  std::string all;
  for (const auto& [key, value] : pairs) {
    if (key.starts_with("echo-") || key.starts_with("trail-") || key.starts_with("own-"))
      all += text(key) + "=" + text(value) + ";";
  }
  return all.empty() ? "none" : all;
}

inline Query query(const std::string& ask, int number = 0, std::string load = "") {
  Query q;
  q.set_ask(ask);
  q.set_number(number);
  q.set_load(std::move(load));
  return q;
}

// A server at a free port, which prepare() has given its services; null if it does not start.
inline std::unique_ptr<grpc::Server> start_server(int& port,
                                                  const std::function<void(grpc::ServerBuilder&)>& prepare) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  prepare(builder);
  return builder.BuildAndStart();
}

// Prints the address of the server. The result is the program's.
inline int serve_until_sigterm(
    const std::function<void(grpc::ServerBuilder&)>& prepare,
    const std::function<void(grpc::Server&)>& when_started = [](grpc::Server&) {}) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  int port = 0;
  const auto server = start_server(port, prepare);
  if (!server) return 1;
  when_started(*server);
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  int ended_by = 0;
  ::sigwait(&ends, &ended_by);
  server->Shutdown();
  server->Wait();
  return 0;
}

inline std::shared_ptr<grpc::Channel> channel_to(const std::string& port) {
  return grpc::CreateChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials());
}

// One of the ways to run a program: its first word, and perhaps an argument. The result of `run` is the
// program's.
struct program_mode {
  program_mode(std::string word, std::function<int()> run)
      : usage(word),
        name(std::move(word)),
        run_with([run = std::move(run)](const std::string&) { return run(); }) {}
  program_mode(std::string word, const std::string& argument, std::function<int(const std::string&)> run)
      : usage(word + " " + argument), name(std::move(word)), words(3), run_with(std::move(run)) {}
  std::string usage;
  std::string name;
  int words = 2;  // that of the program is the first
  std::function<int(const std::string&)> run_with;
};

// A program among those that are linked as one, by the ways to run it.
class program {
 public:
  program(std::string name, std::vector<program_mode> modes) : modes_(std::move(modes)) {
    all().emplace(std::move(name), this);
  }

  static std::map<std::string, const program*>& all() {
    static std::map<std::string, const program*> every;
    return every;
  }

  // What main() returns.
  int run(int count, char** words) const {
    std::cout << std::boolalpha;
    for (const program_mode& mode : modes_)
      if (count == mode.words && mode.name == words[1]) return mode.run_with(count > 2 ? words[2] : "");
    std::cerr << "usage:";
    for (const program_mode& mode : modes_) std::cerr << (&mode == &modes_[0] ? " " : " | ") << mode.usage;
    std::cerr << "\n";
    return 2;
  }

 private:
  std::vector<program_mode> modes_;
};

}  // namespace call_kinds
