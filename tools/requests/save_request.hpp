// save_request: keeps a call of the command line in a file of requests.
#pragma once

#include "tools/call/exchange.hpp"
#include "tools/endpoint.hpp"

#include <coracle/base/status.hpp>

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools {

// Adds the call to the file, which need not exist, with the address, the options and the headers as they were
// typed, and with its status and replies as the expected ones. What a target of the configuration file adds
// stays there: its headers may be secret.
void save_request(const std::string& path, const CLI::App& typed, const endpoint& where,
                  const google::protobuf::MethodDescriptor& method, const exchange::transcript& kept,
                  const status& outcome);

// Throws failure, before the call is made, if the file has something else than requests or cannot be written.
void check_requests_file(const std::string& path);

}  // namespace coracle::tools
