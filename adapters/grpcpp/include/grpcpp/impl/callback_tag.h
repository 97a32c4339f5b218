// callback_tag: what is called at the end of an operation, in place of an event of a queue.
#pragma once

#include <grpcpp/impl/guarded.h>

#include <grpcpp/impl/one_library.h>

namespace grpc::internal {

// Exceptions of run() go no further.
class callback_tag {
 public:
  virtual void run(bool ok) = 0;

 protected:
  ~callback_tag() = default;
};

// Calls a function of the program. Its exceptions go no further: the call goes on.
template <class Function>
void call_program(Function&& f) noexcept {
  guarded(f, [] {});  // as grpc++
}

}  // namespace grpc::internal
