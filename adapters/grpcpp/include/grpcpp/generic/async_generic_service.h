// Generic services: declared for generated code; they do not exist yet.
#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

namespace grpc {

class AsyncGenericService final {
 public:
  template <class T = void>
  AsyncGenericService() {
    static_assert(!internal::is_missing<T>,
                  "coracle::grpcpp has no generic services yet: use coracle::generic_service");
  }
};

class CallbackGenericService {
 public:
  template <class T = void>
  CallbackGenericService() {
    static_assert(!internal::is_missing<T>,
                  "coracle::grpcpp has no generic services yet: use coracle::generic_service");
  }
  virtual ~CallbackGenericService() = default;
};

}  // namespace grpc
