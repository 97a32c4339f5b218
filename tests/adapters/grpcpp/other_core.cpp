// Stands for gRPC's C core in a static library: the function that coracle::grpcpp looks for.
extern "C" void grpc_channelz_get_servers() {}
