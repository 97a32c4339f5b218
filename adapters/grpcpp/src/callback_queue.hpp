// callback_queue(): the queue whose events are callbacks, on threads of their own.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/callback_tag.h>

namespace grpc::internal {

// The tag of each operation is a callback_tag. Its run() is called on a thread for callbacks, after the
// message was parsed there. One that blocks keeps its thread: others are given threads, after 20 ms at the
// latest, and it may wait for them.
//
// It lasts until the process ends; a child of fork() gets its own.
CompletionQueue& callback_queue();
// Has a thread call run(ok).
void post_callback(callback_tag& tag, bool ok = true);

}  // namespace grpc::internal
