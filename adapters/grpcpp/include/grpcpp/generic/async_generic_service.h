// Generic services: those of completion queues are declared for generated code; they do not exist yet.
#pragma once

#include <grpcpp/generic/callback_generic_service.h>  // IWYU pragma: export
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

namespace grpc {

class AsyncGenericService final {
 public:
  template <class T = void>
  AsyncGenericService() {
    static_assert(!internal::is_missing<T>,
                  "coracle::grpcpp has no generic services of completion queues yet: CallbackGenericService");
  }
};

}  // namespace grpc
