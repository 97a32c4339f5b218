// CreateChannel(): makes channels.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc {

/// Makes a channel to `target` (grpc/grpc doc/naming.md), which connects when the first call needs it. With
/// null credentials, or if options of theirs are invalid, every call fails.
std::shared_ptr<Channel> CreateChannel(const std::string& target,
                                       const std::shared_ptr<ChannelCredentials>& credentials);
std::shared_ptr<Channel> CreateCustomChannel(const std::string& target,
                                             const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments);

namespace experimental {

/// The interceptors that the factories make run in this order around the calls of the channel, in all three
/// APIs.
std::shared_ptr<Channel> CreateCustomChannelWithInterceptors(
    const std::string& target, const std::shared_ptr<ChannelCredentials>& credentials,
    const ChannelArguments& arguments,
    std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptor_creators);

}  // namespace experimental
}  // namespace grpc
