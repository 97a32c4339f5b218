// MakeChannelArgumentOption(): one argument of a server as an option.
#pragma once

#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <string>

namespace grpc {

std::unique_ptr<ServerBuilderOption> MakeChannelArgumentOption(const std::string& name,
                                                               const std::string& value);
std::unique_ptr<ServerBuilderOption> MakeChannelArgumentOption(const std::string& name, int value);

}  // namespace grpc
