// What the programs share: they print lines "name: what", serve until SIGTERM, and are found by their names
// (main.cpp).
#pragma once

#include "../notification.hpp"
#include "program_services.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace programs {

using arguments = std::vector<std::string>;
using metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

template <class... Parts>
void say(const std::string& name, const Parts&... parts) {
  std::ostringstream line;
  line << name << ":";
  ((line << " " << parts), ...);
  line << "\n";
  std::cout << line.str() << std::flush;
}

inline std::string shown(const grpc::Status& status) {
  std::string all = std::to_string(status.error_code());
  if (!status.error_message().empty()) all += " '" + status.error_message() + "'";
  if (!status.error_details().empty()) all += " [" + status.error_details() + "]";
  return all;
}

// The value of a key, or "none".
inline std::string value_of(const metadata& pairs, const std::string& key) {
  const auto found = pairs.find(key);
  return found == pairs.end() ? "none" : std::string(found->second.data(), found->second.size());
}

// Starts the server at a free port, and prints it.
std::unique_ptr<grpc::Server> start(grpc::ServerBuilder& builder,
                                    std::shared_ptr<grpc::ServerCredentials> credentials = nullptr);

// main() has blocked the signal.
void wait_for_sigterm();

std::shared_ptr<grpc::Channel> channel_to(const std::string& port);

using call_kinds::notification;

// The servers print what they have served at their end. Arguments: of a server none, or the port of another
// server; of a client the port of its server.
#define CORACLE_PROGRAM(name)         \
  namespace name {                    \
  void serve(const arguments& given); \
  void call(const arguments& given);  \
  }
CORACLE_PROGRAM(guide_sync)
CORACLE_PROGRAM(guide_queue)
CORACLE_PROGRAM(guide_callback)
CORACLE_PROGRAM(store)
CORACLE_PROGRAM(store_proxy)
CORACLE_PROGRAM(generic_proxy)
CORACLE_PROGRAM(files)
CORACLE_PROGRAM(chat)
CORACLE_PROGRAM(chat_callback)
CORACLE_PROGRAM(compression)
CORACLE_PROGRAM(retries)
CORACLE_PROGRAM(auth)
CORACLE_PROGRAM(health)
CORACLE_PROGRAM(shutdown_sync)
CORACLE_PROGRAM(shutdown_queue)
#undef CORACLE_PROGRAM

}  // namespace programs
