// CompletionQueueTag: the base of what the operations of grpc++ put into their own queues. Those of a program are any pointers.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::internal {

class CompletionQueueTag {
 public:
  virtual ~CompletionQueueTag() = default;
  virtual bool FinalizeResult(void** tag, bool* status) = 0;
};

}  // namespace grpc::internal
