// reflection_service: describes a server's services to tools without .proto files (grpc.reflection).
#pragma once

#include "coracle/server/service.hpp"

#include <memory>
#include <string>

namespace coracle {

/// Describes the services of a server to tools.
///
///   server.add(reflection);
///
/// grpcurl, Evans, ghz and similar tools can then list, describe and call the server's services. Implements
/// v1 and v1alpha. The object belongs to one server, which it must outlive.
///
/// It reveals every .proto whose C++ is linked into the program (protobuf's generated pool), as other
/// implementations do: leave it out where these are confidential. Services whose messages use the lite
/// runtime are listed, but have no descriptors.
///
/// Source: grpc/grpc doc/server-reflection.md.
class reflection_service {
 public:
  /// `descriptor_set`: a serialized google.protobuf.FileDescriptorSet, whose files the service describes in
  /// place of those of the same names: with their comments, which generated code has not. It must have the
  /// imports, too; the .protoset of coracle_generate() with GENERATE_DESCRIPTORS has both. Several sets may
  /// follow one another. Throws usage_error if it is none.
  explicit reflection_service(const std::string& descriptor_set = {});
  reflection_service(const reflection_service&) = delete;
  reflection_service& operator=(const reflection_service&) = delete;
  ~reflection_service();

  /// The service to add to the server.
  operator service&() noexcept;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
