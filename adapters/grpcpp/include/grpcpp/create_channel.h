// CreateChannel(): makes channels.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

namespace grpc {

/// Makes a channel to `target` (grpc/grpc doc/naming.md), which connects when the first call needs it. With
/// null credentials, or if options of theirs are invalid, every call fails.
std::shared_ptr<Channel> CreateChannel(const std::string& target,
                                       const std::shared_ptr<ChannelCredentials>& credentials);
std::shared_ptr<Channel> CreateCustomChannel(const std::string& target,
                                             const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments);

}  // namespace grpc
