// Small programs as users of grpc++ write them, built with both libraries from one source.
//
//   programs_LIBRARY server PROGRAM ...    prints its address, serves until SIGTERM, and says what it served
//   programs_LIBRARY client PROGRAM PORT ...
#include "program.hpp"

#include <signal.h>

#include <cstdlib>

namespace programs {

std::unique_ptr<grpc::Server> start(grpc::ServerBuilder& builder,
                                    std::shared_ptr<grpc::ServerCredentials> credentials) {
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials ? credentials : grpc::InsecureServerCredentials(),
                           &port);
  auto server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "the server does not start\n";
    std::exit(1);
  }
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  return server;
}

namespace {
sigset_t sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

struct program {
  void (*serve)(const arguments&);
  void (*call)(const arguments&);
};
const std::map<std::string, program> all = {
    {"guide_sync", {guide_sync::serve, guide_sync::call}},
    {"guide_queue", {guide_queue::serve, guide_queue::call}},
    {"guide_callback", {guide_callback::serve, guide_callback::call}},
    {"store", {store::serve, store::call}},
    {"store_proxy", {store_proxy::serve, nullptr}},
    {"generic_proxy", {generic_proxy::serve, nullptr}},
    {"files", {files::serve, files::call}},
    {"chat", {chat::serve, chat::call}},
    {"chat_callback", {chat_callback::serve, chat_callback::call}},
    {"compression", {compression::serve, compression::call}},
    {"retries", {retries::serve, retries::call}},
    {"auth", {auth::serve, auth::call}},
    {"health", {health::serve, health::call}},
    {"shutdown_sync", {shutdown_sync::serve, shutdown_sync::call}},
    {"shutdown_queue", {shutdown_queue::serve, nullptr}},
};
}  // namespace

void wait_for_sigterm() {
  const sigset_t set = sigterm();
  int number = 0;
  sigwait(&set, &number);
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& port) {
  return grpc::CreateChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials());
}

}  // namespace programs

int main(int count, char** words) {
  const sigset_t set = programs::sigterm();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (count < 3) return 2;
  const auto found = programs::all.find(words[2]);
  if (found == programs::all.end()) return 2;
  const programs::arguments given(words + 3, words + count);
  std::string(words[1]) == "server" ? found->second.serve(given) : found->second.call(given);
  return 0;
}
