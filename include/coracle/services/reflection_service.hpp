// reflection_service: describes a server's services to tools without .proto files (grpc.reflection).
#pragma once

#include "coracle/server/service.hpp"

#include <memory>

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
  reflection_service();
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
