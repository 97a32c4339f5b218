// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no servers from a file descriptor: coracle::server takes over listening sockets of systemd"
