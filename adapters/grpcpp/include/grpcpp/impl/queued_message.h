// message_target and serialized_message: the messages of operations of the completion-queue API.
#pragma once

#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <utility>

namespace grpc::internal {

// A message of the program, and how it is made of bytes.
struct message_target {
  void* message = nullptr;
  // By the thread that takes the event.
  Status (*decode)(std::string&& bytes, void* into) = nullptr;
  // Of messages of protobuf: the same with bytes that are elsewhere, by any thread. Throws std::bad_alloc alone.
  Status (*decode_in_place)(const char* bytes, std::size_t size, void* into) = nullptr;

  // Base: the class whose traits decode it.
  template <class Base, class Message>
  static message_target of(Message* m) {
    message_target made;
    made.message = static_cast<Base*>(m);
    made.decode = [](std::string&& bytes, void* into) {
      return from_bytes<Base>(std::move(bytes), *static_cast<Base*>(into));
    };
    if constexpr (is_protobuf<Base>)
      made.decode_in_place = [](const char* bytes, std::size_t size, void* into) {
        return deserialize_protobuf(bytes, size, *static_cast<Base*>(into));
      };
    return made;
  }
};

// A message that was serialized, or the reason why it could not be.
struct serialized_message {
  std::string bytes;
  Status outcome;
  // For interceptors: how another one becomes bytes, and the message itself, if it lasts as long as the
  // operation.
  Status (*serialize)(const void* message, std::string& to) = nullptr;
  const void* lasting = nullptr;

  template <class Base>
  static serialized_message of(const Base& message) {
    serialized_message made;
    made.outcome = to_bytes<Base>(message, made.bytes);
    made.serialize = [](const void* m, std::string& to) {
      return to_bytes<Base>(*static_cast<const Base*>(m), to);
    };
    return made;
  }
  template <class Base>
  static serialized_message of_lasting(const Base& message) {
    serialized_message made = of<Base>(message);
    made.lasting = &message;
    return made;
  }
};

}  // namespace grpc::internal
