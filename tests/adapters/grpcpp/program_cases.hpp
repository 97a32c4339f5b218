// What programs of cases share: how they print a case, and a server that serves until SIGTERM. Compiled
// with both libraries.
#pragma once

#include "harbour.pb.h"

#include <grpcpp/grpcpp.h>

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace harbour {

template <class... Parts>
void say(const std::string& name, const Parts&... parts) {
  std::cout << name << ":";
  ((std::cout << " " << parts), ...);
  std::cout << std::endl;
}

inline Query query(const std::string& ask, int number = 0, std::string load = "") {
  Query q;
  q.set_ask(ask);
  q.set_number(number);
  q.set_load(std::move(load));
  return q;
}

// Prints the address of the server, which prepare() has given its services. The result is the program's.
inline int serve_until_sigterm(
    const std::function<void(grpc::ServerBuilder&)>& prepare,
    const std::function<void(grpc::Server&)>& when_started = [](grpc::Server&) {}) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  prepare(builder);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  when_started(*server);
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  int ended_by = 0;
  ::sigwait(&ends, &ended_by);
  server->Shutdown();
  server->Wait();
  return 0;
}

}  // namespace harbour
