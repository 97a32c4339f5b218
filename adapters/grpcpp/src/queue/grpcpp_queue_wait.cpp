#include "coracle/grpcpp_queue_wait.hpp"

#include <grpcpp/completion_queue.h>

#include "adapters/grpcpp/src/queue/queue_core.hpp"

namespace coracle {

grpcpp_queue_wait::grpcpp_queue_wait(grpc::CompletionQueue& queue)
    : queue_(queue), descriptor_(queue.core()->begin_wait()) {}
grpcpp_queue_wait::~grpcpp_queue_wait() { queue_.core()->end_wait(); }

}  // namespace coracle
