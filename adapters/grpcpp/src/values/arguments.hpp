// Arguments of channels and servers as options of Coracle.
#pragma once

#include <grpcpp/support/channel_arguments.h>

#include "coracle/client/channel_options.hpp"
#include "coracle/server/server_options.hpp"

#include <string>

namespace grpc::internal {

// What a channel is made with beside its target. An argument that is invalid fails the channel's calls.
class channel_settings {
 public:
  explicit channel_settings(const ChannelArguments& from);
  coracle::channel_options options;
  std::string tls_target_name;
  std::string xds_bootstrap;  // empty: that of the environment
  coracle::status invalid;
};

void apply(const ChannelArguments& from, coracle::server_options& to);

}  // namespace grpc::internal
