// greeter: the service, which the server serves and the test calls.
#pragma once

#include "project_name.coracle.hpp"

#include <coracle/server.hpp>

namespace project_name {

// Override the function of each method that you write into project_name.proto.
class greeter final : public rpc::Greeter::service {};

}  // namespace project_name
