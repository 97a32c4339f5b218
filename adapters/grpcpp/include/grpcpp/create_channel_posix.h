// CreateInsecureChannelFromFd(): makes a channel of a connection that the program has.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc {

/// Makes a channel whose one connection is `fd`, a connected TCP or UNIX stream socket, which the channel owns.
/// When the connection ends, all calls fail with UNAVAILABLE: it is not made again. If `fd` is no such socket,
/// they fail at once, and the channel closes it. `target` has no effect.
std::shared_ptr<Channel> CreateInsecureChannelFromFd(const std::string& target, int fd);
std::shared_ptr<Channel> CreateCustomInsecureChannelFromFd(const std::string& target, int fd,
                                                           const ChannelArguments& arguments);

namespace experimental {

/// Of later versions of grpc++.
std::shared_ptr<Channel> CreateChannelFromFd(int fd, const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments)
    CORACLE_GRPCPP_MISSING(
        "a descriptor has no TLS: CreateCustomInsecureChannelFromFd(target, fd, arguments)");
/// See CreateCustomChannelWithInterceptors().
std::shared_ptr<Channel> CreateCustomInsecureChannelWithInterceptorsFromFd(
    const std::string& target, int fd, const ChannelArguments& arguments,
    std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptor_creators);

}  // namespace experimental
}  // namespace grpc
