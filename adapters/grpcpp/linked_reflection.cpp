// Compiled into programs that link gRPC::grpc++_reflection: their servers have reflection, as with grpc++.
#include <grpcpp/ext/proto_server_reflection_plugin.h>

namespace {

[[maybe_unused]] const bool added = (grpc::reflection::InitProtoReflectionServerBuilderPlugin(), true);

}  // namespace
