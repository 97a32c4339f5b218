// expect: the servers of coracle::grpcpp have no completion queues yet
#include <grpcpp/grpcpp.h>

void use(grpc::ServerContext& context, void* tag) {
#ifdef MISUSE
  context.AsyncNotifyWhenDone(tag);
#else
  static_cast<void>(tag);
  context.TryCancel();
#endif
}
