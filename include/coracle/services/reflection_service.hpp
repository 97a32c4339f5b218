// reflection_service: tells tools what a server can be asked, so that they need no .proto files (grpc.reflection).
#pragma once

#include "coracle/server/service.hpp"

#include <memory>

namespace coracle {

// server.add(reflection); then grpcurl, Evans, ghz and their like list, describe and call the server's services. Answers
// as v1 and as v1alpha. Belongs to one server, which it must outlive.
//
// It shows every .proto whose C++ is linked into the program (protobuf's generated pool), as other implementations do:
// leave it out where that is nobody's business. Services with messages of the lite runtime are listed, but have no
// descriptors to describe them by.
//
// Source: grpc/grpc doc/server-reflection.md.
class reflection_service {
 public:
  reflection_service();
  reflection_service(const reflection_service&) = delete;
  reflection_service& operator=(const reflection_service&) = delete;
  ~reflection_service();

  // What is added to the server.
  operator service&() noexcept;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
