// AddInsecureChannelFromFd(): has a server serve a connection that the program has.
#pragma once

#include <grpcpp/server.h>

namespace grpc {

/// Serves the connection `fd`, a connected TCP or UNIX stream socket, which the server owns. If it is no such
/// socket, a line in the log says so, and it is closed. Any thread.
void AddInsecureChannelFromFd(Server* server, int fd);

}  // namespace grpc
