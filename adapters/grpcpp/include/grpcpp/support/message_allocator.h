// MessageAllocator: where handlers of the callback API, which does not exist yet, get their messages.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

template <class Request, class Reply>
class MessageAllocator;

}  // namespace grpc
