// MessageAllocator: where handlers of unary calls in the callback API get their messages.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

/// What CallbackServerContext::GetRpcAllocatorState() returns.
class RpcAllocatorState {
 public:
  virtual ~RpcAllocatorState() = default;
  /// Frees the request before the end of the call, if the allocator can.
  virtual void FreeRequest() {}
};

/// The messages of one call. A class that derives from it sets the pointers.
template <class Request, class Reply>
class MessageHolder : public RpcAllocatorState {
 public:
  /// Called after OnDone(): frees the object.
  virtual void Release() = 0;
  Request* request() { return request_; }
  Reply* response() { return response_; }

 protected:
  void set_request(Request* request) { request_ = request; }
  void set_response(Reply* response) { response_ = response; }

 private:
  Request* request_ = nullptr;
  Reply* response_ = nullptr;
};

/// Set for a method by SetMessageAllocatorFor_<Method>() of its service, before the server starts. Called on
/// several threads.
template <class Request, class Reply>
class MessageAllocator {
 public:
  virtual ~MessageAllocator() = default;
  virtual MessageHolder<Request, Reply>* AllocateMessages() = 0;
};

namespace experimental {

// Older programs name these here.
using grpc::MessageAllocator;
using grpc::MessageHolder;
using grpc::RpcAllocatorState;

}  // namespace experimental
}  // namespace grpc
