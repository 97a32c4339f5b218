// CompletionQueue: declared for generated code; the completion-queue API does not exist yet.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CompletionQueue {
 public:
  template <class T = void>
  CompletionQueue() {
    static_assert(!internal::is_missing<T>,
                  "coracle::grpcpp has no completion queues yet: use the synchronous API, or Coracle's own "
                  "stubs in a coroutine");
  }
  virtual ~CompletionQueue() = default;

 protected:
  struct for_the_library {};
  explicit CompletionQueue(for_the_library) {}
};

class ServerCompletionQueue : public CompletionQueue {
 private:
  ServerCompletionQueue() : CompletionQueue(for_the_library()) {}
};

}  // namespace grpc
