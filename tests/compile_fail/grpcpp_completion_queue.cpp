// expect: coracle::grpcpp has no completion queues yet
#include <grpcpp/grpcpp.h>

void use() {
#ifdef MISUSE
  grpc::CompletionQueue queue;
#else
  grpc::CompletionQueue* queue = nullptr;
#endif
  (void)queue;
}
