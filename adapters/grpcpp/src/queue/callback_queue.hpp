// callback_queue(): the queue of the callbacks of clients, and of alarms.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/callback_tag.h>

namespace grpc::internal {

// Is made over a callback_core. It lasts until the process ends; a child of fork() gets its own.
CompletionQueue& callback_queue();
// Has a thread call run(ok).
void post_callback(callback_tag& tag, bool ok = true);

}  // namespace grpc::internal
