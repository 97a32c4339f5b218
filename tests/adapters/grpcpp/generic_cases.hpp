// The cases of generic_program.cpp: their server, messages as bytes, and the tables.
#pragma once

#include "two_sided_cases.hpp"

#include <grpcpp/generic/async_generic_service.h>

#include <string>
#include <vector>

namespace call_kinds::generic {

using grpc::ByteBuffer;

// The methods of the first server, one requested by itself and the others by the generic service, and the
// services of the second one.
struct generic_services {
  CallKinds::WithAsyncMethod_Unary<CallKinds::WithGenericMethod_ServerStream<
      CallKinds::WithGenericMethod_ClientStream<CallKinds::WithGenericMethod_BidiStream<CallKinds::Service>>>>
      service;
  grpc::AsyncGenericService generic;
  call_kinds_service synchronous;
  grpc::AsyncGenericService second_generic;
};
using serving = two_servers<generic_services>;
using cases = two_sided_cases<serving>;

// A generic call of the first server.
struct held : held_generic {
  explicit held(serving& s, int tag = 1, bool notify = true)
      : held_generic(s.generic, s.queue(), s.queue(), tag, notify) {}
};

inline ByteBuffer bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return ByteBuffer(&slice, 1);
}
inline std::string text_of(const ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return "nothing";
  std::string all;
  for (const grpc::Slice& s : slices) all.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return all;
}
template <class Message>
ByteBuffer bytes_of(const Message& message) {
  return bytes(message.SerializeAsString());
}
template <class Message>
Message parsed(const ByteBuffer& from) {
  Message made;
  if (!made.ParseFromString(text_of(from))) made.Clear();
  return made;
}

// What a unary call returns, in one line.
inline std::string answer(calling& c, grpc::ClientContext& context, const std::string& method,
                          const std::string& request) {
  grpc::CompletionQueue queue;
  const auto reader = c.generic.PrepareUnaryCall(&context, method, bytes(request), &queue);
  reader->StartCall();
  ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, tagged(1));
  const std::string event = taken(queue);
  return event + " " + shown(status) + " " + (status.ok() ? text_of(reply) : "none") + " " +
         own(context.GetServerInitialMetadata()) + " " + own(context.GetServerTrailingMetadata());
}
inline std::string answer(calling& c, const std::string& method, const std::string& request = "hello") {
  grpc::ClientContext context;
  return answer(c, context, method, request);
}

cases unary_cases();
cases stream_cases();
cases end_cases();

}  // namespace call_kinds::generic
