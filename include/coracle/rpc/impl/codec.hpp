// codec: encodes and decodes one message type through plain function pointers.
#pragma once

#include "coracle/base/bytes.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace coracle::rpc {

enum class message_kind : std::uint8_t {
  protobuf,       // a google::protobuf::Message: a message_codec may encode it
  protobuf_lite,  // a MessageLite: has no reflection, so only the binary format
  own,            // the codec's output is sent as it is, whatever the content-type
};

// It has function pointers, so that the code of calls is compiled once and not per message type.
// Messages are passed as the address that codec_of<T>::address() returns.
struct codec {
  message_kind kind;
  // Returns the number of bytes that write() needs. Call size_bytes() and then write(): protobuf caches sizes
  // in between.
  std::size_t (*size_bytes)(const void* message);
  // Writes exactly size_bytes() bytes to `to`.
  void (*write)(const void* message, std::uint8_t* to);
  // Clears the message, then decodes. Returns false if the bytes are not a valid message.
  bool (*read)(void* message, bytes_view from);
  // Returns how much memory a message that read() has filled takes, for server_options::memory. Only for
  // codecs of kind `own`. Null: as much as the bytes that it was read from.
  std::size_t (*memory_bytes)(const void* message) = nullptr;
};

// The binary format of protobuf messages.
extern const codec protobuf_codec;
extern const codec protobuf_lite_codec;

// Specialize it for a message type that is not a protobuf class. address() is then the address of the object.
template <class T>
struct codec_of {
  static_assert(std::is_base_of_v<google::protobuf::MessageLite, T>,
                "a message must be a protobuf class: include its .pb.h");
  static const codec& get() noexcept {
    if constexpr (requires { T::descriptor(); }) return protobuf_codec;
    else return protobuf_lite_codec;
  }
  static const void* address(const T& message) noexcept {
    return static_cast<const google::protobuf::MessageLite*>(&message);
  }
  static void* address(T& message) noexcept { return static_cast<google::protobuf::MessageLite*>(&message); }
};

enum class message_set : std::uint8_t {
  one,  // one type
  with_reflection,  // google::protobuf::Message: each message of protobuf that is not a lite one
  all,  // google::protobuf::MessageLite: each message of protobuf
};

// A message type at run time, without run-time type information: programs may be compiled without it.
// Protobuf's own base classes have a name and a set alone.
struct message_type {
  std::string_view name;  // in C++, for errors
  message_set set;
  const codec& (*get_codec)();
  // Returns an object of this type, which tells whether others are of it, too. Null: no message of protobuf,
  // or a class that is not generated from a .proto.
  const google::protobuf::MessageLite& (*like)();
  // Makes an empty message, and destroys it; the pointers are those of codec_of<T>::address(). Null if the
  // type has no default constructor.
  void* (*make)();
  void (*destroy)(void*);
};

template <class M, class Address>
M* message_at(Address* address) noexcept {
  using base = std::conditional_t<std::is_const_v<M>, const google::protobuf::MessageLite,
                                  google::protobuf::MessageLite>;
  if constexpr (std::is_base_of_v<google::protobuf::MessageLite, M>)
    return static_cast<M*>(static_cast<base*>(address));
  else return static_cast<M*>(address);
}

// The name of M, from how the compiler writes this function: "... [with M = movie::Movie; ...]".
template <class M>
constexpr std::string_view name_of_message() noexcept {
  const std::string_view function = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "M = ";
  const std::size_t begin = function.find(before) + before.size();
  return function.substr(begin, function.find_first_of(";]", begin) - begin);
}

template <class M>
constexpr message_type describe_message_type() noexcept {
  message_type t{name_of_message<M>(), message_set::one, nullptr, nullptr, nullptr, nullptr};
  if constexpr (std::is_same_v<M, google::protobuf::MessageLite>) {
    t.set = message_set::all;
  } else if constexpr (std::is_same_v<M, google::protobuf::Message>) {
    t.set = message_set::with_reflection;
  } else {
    t.get_codec = &codec_of<M>::get;
    if constexpr (requires {
                    { M::default_instance() } -> std::convertible_to<const google::protobuf::MessageLite&>;
                  })
      t.like = []() -> const google::protobuf::MessageLite& { return M::default_instance(); };
    if constexpr (std::is_default_constructible_v<M>) {
      t.make = [] { return codec_of<M>::address(*new M); };
      t.destroy = [](void* m) { delete message_at<M>(m); };
    }
  }
  return t;
}

template <class M>
inline constexpr message_type message_type_of = describe_message_type<M>();

// What a call sends: a codec and the address of a message.
struct message_to_send {
  const codec* k;
  const void* message;
};

}  // namespace coracle::rpc
