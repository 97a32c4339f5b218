// What programs and tests of completion queues share: the events of a queue, and calls that a server has
// requested. Compiled with both libraries.
#pragma once

#include "call_kinds.grpc.pb.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace call_kinds {

inline void* tagged(std::intptr_t number) { return reinterpret_cast<void*>(number); }

// The tags of events with their ok, as "1+ 2-"; at the end of a queue "drained".
inline std::vector<std::string> taken_events(grpc::CompletionQueue& queue, int count) {
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok)) {
      events.emplace_back("drained");
      break;
    }
    events.push_back(std::to_string(reinterpret_cast<std::intptr_t>(tag)) + (ok ? "+" : "-"));
  }
  return events;
}
inline std::string in_one_line(const std::vector<std::string>& events) {
  std::string all;
  for (const std::string& event : events) all += (all.empty() ? "" : " ") + event;
  return all;
}

// Takes `count` events, and shows them in the order in which they come.
inline std::string taken(grpc::CompletionQueue& queue, int count = 1) {
  return in_one_line(taken_events(queue, count));
}

// The same, for events that come in any order, with each library: sorted. Each use says why.
inline std::string taken_in_any_order(grpc::CompletionQueue& queue, int count) {
  std::vector<std::string> events = taken_events(queue, count);
  std::sort(events.begin(), events.end());
  return in_one_line(events);
}

// What a server has of a call that it requests by a queue. The tag of the notice of its end is 9.
template <class Stream, class Context = grpc::ServerContext>
struct held_call {
  explicit held_call(grpc::CompletionQueue& q, bool notify = true) : queue(q) {
    if (notify) context.AsyncNotifyWhenDone(tagged(9));
  }
  // The next events.
  std::string next(int count = 1) { return taken(queue, count); }
  std::string next_in_any_order(int count) { return taken_in_any_order(queue, count); }
  // Operations, each with its event.
  template <class Message>
  std::string read(Message& into, int tag) {
    stream.Read(&into, tagged(tag));
    return next();
  }
  template <class Message>
  std::string write(const Message& message, int tag) {
    stream.Write(message, tagged(tag));
    return next();
  }
  // Finishes the call: the event of this, and the notice of the end.
  template <class... Outcome>
  std::string end(int tag, const Outcome&... outcome) {
    stream.Finish(outcome..., tagged(tag));
    return next(2);
  }
  grpc::CompletionQueue& queue;
  Context context;
  Stream stream{&context};
};

// Calls of each kind, which are requested with a tag. `serving` has a service and a queue. The event of the
// request may come by another queue than the other events.
struct held_unary : held_call<grpc::ServerAsyncResponseWriter<Reply>> {
  template <class Serving>
  explicit held_unary(Serving& serving, int tag = 1, bool notify = true)
      : held_unary(serving.service, serving.queue(), serving.queue(), tag, notify) {}
  template <class Service>
  held_unary(Service& of, grpc::CompletionQueue& events, grpc::ServerCompletionQueue& requests, int tag = 1,
             bool notify = true)
      : held_call(events, notify) {
    of.RequestUnary(&context, &asked, &stream, &events, &requests, tagged(tag));
  }
  Query asked;
};
struct held_server_stream : held_call<grpc::ServerAsyncWriter<Reply>> {
  template <class Serving>
  explicit held_server_stream(Serving& serving, int tag = 1) : held_call(serving.queue()) {
    serving.service.RequestServerStream(&context, &asked, &stream, &queue, &serving.queue(), tagged(tag));
  }
  Query asked;
};
struct held_client_stream : held_call<grpc::ServerAsyncReader<Summary, Position>> {
  template <class Serving>
  explicit held_client_stream(Serving& serving) : held_client_stream(serving, serving.queue(), 1) {}
  template <class Serving>
  held_client_stream(Serving& serving, grpc::ServerCompletionQueue& requests, int tag)
      : held_call(serving.queue()) {
    serving.service.RequestClientStream(&context, &stream, &queue, &requests, tagged(tag));
  }
};
struct held_bidi_stream : held_call<grpc::ServerAsyncReaderWriter<Note, Note>> {
  template <class Serving>
  explicit held_bidi_stream(Serving& serving) : held_call(serving.queue()) {
    serving.service.RequestBidiStream(&context, &stream, &queue, &serving.queue(), tagged(1));
  }
};
struct held_generic : held_call<grpc::GenericServerAsyncReaderWriter, grpc::GenericServerContext> {
  held_generic(grpc::AsyncGenericService& of, grpc::CompletionQueue& events,
               grpc::ServerCompletionQueue& requests, int tag = 1, bool notify = true)
      : held_call(events, notify) {
    of.RequestCall(&context, &stream, &events, &requests, tagged(tag));
  }
};

}  // namespace call_kinds
