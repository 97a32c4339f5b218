// GrpcLibraryInitializer: programs make one before they use the library. Nothing needs it: the library begins with the first channel or server.
#pragma once

#include <grpc/grpc.h>

namespace grpc {

class GrpcLibraryInterface {
 public:
  virtual ~GrpcLibraryInterface() = default;
  virtual void init() = 0;
  virtual void shutdown() = 0;
};

/// The base of classes that need the library.
class GrpcLibraryCodegen {
 public:
  explicit GrpcLibraryCodegen(bool /*initialise*/ = true) {}
  virtual ~GrpcLibraryCodegen() = default;
};

namespace internal {

class GrpcLibrary : public GrpcLibraryInterface {
 public:
  explicit GrpcLibrary(bool /*initialise*/ = true) {}
  void init() override { grpc_init(); }
  void shutdown() override { grpc_shutdown(); }
};

class GrpcLibraryInitializer final {
 public:
  GrpcLibraryInitializer() {
  }  // NOLINT(modernize-use-equals-default): so that an object without use is no warning
  int summon() { return 0; }
};

}  // namespace internal
}  // namespace grpc
