#include "coracle/rpc/intercepted_message.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "rpc/call.hpp"
#include "rpc/message_format.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/message_lite.h>

#include <limits>
#include <new>

namespace coracle {

namespace {

using google::protobuf::MessageLite;

const MessageLite& lite(const void* address) { return *static_cast<const MessageLite*>(address); }

const google::protobuf::Message& with_reflection(const MessageLite& m) {
  return static_cast<const google::protobuf::Message&>(m);
}

// "movie::Movie", of a message of protobuf.
std::string cpp_name(const MessageLite& m) {
  std::string name;
  for (const char c : std::string(m.GetTypeName())) name += c == '.' ? std::string("::") : std::string(1, c);
  return name;
}

}  // namespace

intercepted_message::intercepted_message(rpc::call& c, const rpc::codec& k, void* into,
                                         bytes_view body) noexcept
    : format_(&c.format()),
      codec_(&k),
      receiver_(&c),
      object_(into),
      writable_(into),
      bytes_(body),
      bytes_current_(true) {}

intercepted_message::intercepted_message(const rpc::message_format& format, const rpc::codec& k,
                                         const void* message) noexcept
    : format_(&format), codec_(&k), object_(message), object_current_(true) {}

intercepted_message::intercepted_message(const rpc::message_format& format, const rpc::codec& k,
                                         void* message) noexcept
    : format_(&format), codec_(&k), object_(message), writable_(message), object_current_(true) {}

intercepted_message::intercepted_message(const rpc::message_format& format, const rpc::message_type& type)
    : format_(&format), codec_(&type.get_codec()) {
  make_own(&type);
  object_current_ = true;
}

intercepted_message::intercepted_message(const intercepted_message* outer) noexcept
    : format_(outer->format_),
      codec_(outer->codec_),
      object_(outer->object_),
      body_(outer->body_),
      bytes_(outer->bytes_),
      object_current_(outer->object_current_),
      bytes_current_(outer->bytes_current_),
      gone_(outer->gone_) {}

void intercepted_message::require_call() const {
  if (gone_) throw call_ended(status::cancelled("the call was cancelled, and its messages are gone"));
}

bytes_view intercepted_message::bytes() {
  require_call();
  if (bytes_current_) return bytes_;
  rpc::message_format unlimited = *format_;  // the limit applies to what is sent in the end
  unlimited.set_max_send_bytes(std::numeric_limits<std::uint32_t>::max());
  std::string encoded;
  unlimited.write(*codec_, object_, encoded).throw_if_error();
  own_bytes_ = bytes_message(std::move(encoded));
  bytes_current_ = !lent_;
  return bytes_ = own_bytes_.view();
}

void intercepted_message::set_bytes(std::string bytes) {
  require_call();
  own_bytes_ = bytes_message(std::move(bytes));
  body_ = &own_bytes_;
  bytes_ = own_bytes_.view();
  bytes_current_ = changed_ = true;
  object_current_ = lent_ = false;
}

bool intercepted_message::is_of(const rpc::message_type& t) const noexcept {
  if (gone_) return false;
  if (codec_->kind == rpc::message_kind::own) return t.get_codec && &t.get_codec() == codec_;
  const bool reflected = codec_->kind == rpc::message_kind::protobuf;
  if (t.set == rpc::message_set::all) return true;
  if (t.set == rpc::message_set::with_reflection) return reflected;
  if (!t.like || t.get_codec().kind != codec_->kind) return false;
  // A program that is compiled without run-time type information has none for its messages either. Each class
  // has a reflection of its own, which is another one than that of a dynamic message of the same descriptor.
  const MessageLite& object = lite(object_);
  const MessageLite& like = t.like();
  if (reflected) return with_reflection(object).GetReflection() == with_reflection(like).GetReflection();
  // Lite messages are all generated, so that their names are enough.
  bool same = false;
  return base::if_memory_allows([&] { same = object.GetTypeName() == like.GetTypeName(); }) && same;
}

void intercepted_message::require_type(const rpc::message_type& t) const {
  require_call();
  if (is_of(t)) return;
  std::string held = "a type with a codec of its own";
  if (codec_ == &rpc::bytes_codec) {
    held = "coracle::bytes_message";
  } else if (codec_->kind != rpc::message_kind::own) {
    held = cpp_name(lite(object_));
  }
  const std::string text = "an interceptor asked for " + std::string(t.name) + ", and the message is " +
                           held + ": test is<M>() first, or the method of the call";
  base::throw_usage_error(text.c_str());
}

const void* intercepted_message::typed(const rpc::message_type& t) {
  require_type(t);
  if (object_current_) return object_;
  if (!writable_) make_own(&t);
  decode().throw_if_error();
  return object_;
}

void* intercepted_message::writable(const rpc::message_type& t) {
  static_cast<void>(typed(t));
  if (!writable_) {
    const void* const original = object_;
    make_own(&t);
    if (codec_->kind == rpc::message_kind::own) {
      std::string copied(codec_->size_bytes(original), '\0');
      codec_->write(original, reinterpret_cast<std::uint8_t*>(copied.data()));
      if (!codec_->read(own_object_, as_bytes(copied)))
        throw status_error(status::internal("a message does not parse from its own bytes"));
    } else {
      static_cast<MessageLite*>(own_object_)->CheckTypeAndMergeFrom(lite(original));
    }
  }
  bytes_current_ = false;
  body_ = nullptr;
  lent_ = changed_ = true;
  return writable_;
}

// Makes an empty object, and lets it be the current one.
void intercepted_message::make_own(const rpc::message_type* t) {
  void* made = nullptr;
  if (codec_->kind != rpc::message_kind::own && object_) {
    made = lite(object_).New();
  } else {
    CORACLE_REQUIRE(t && t->make, "a message without a default constructor cannot be decoded here");
    made = t->make();
    destroy_ = t->destroy;
  }
  destroy_own();
  object_ = writable_ = own_object_ = made;
}

void intercepted_message::destroy_own() noexcept {
  void* const o = std::exchange(own_object_, nullptr);
  if (!o) return;
  if (codec_->kind == rpc::message_kind::own) destroy_(o);
  else delete static_cast<MessageLite*>(o);
}

status intercepted_message::decode() {
  constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
  std::size_t cost = 0;  // of a message of this program
  status failure;
  if (receiver_) receiver_->decode_message(*codec_, writable_, bytes_, failure);
  else if (!format_->reads_as_is(*codec_))
    failure = format_->read(*codec_, writable_, bytes_, no_limit, cost);
  else if (!codec_->read(writable_, bytes_)) failure = format_->unreadable();
  object_current_ = failure.ok();
  return failure;
}

status intercepted_message::deliver(std::uint32_t receive_limit) {
  if (object_current_) return {};
  if (body_ && bytes_.size() > receive_limit) return rpc::too_large_to_receive(bytes_.size(), receive_limit);
  return decode();
}

void intercepted_message::own() {
  if (bytes_current_) {
    if (bytes_.data() != own_bytes_.view().data()) own_bytes_ = bytes_message(bytes_);
    bytes_ = own_bytes_.view();
    return;
  }
  if (receiver_) return;  // the object is that of the reader, which waits for it
  if (codec_->kind == rpc::message_kind::own) {
    std::string copied(codec_->size_bytes(object_), '\0');
    codec_->write(object_, reinterpret_cast<std::uint8_t*>(copied.data()));
    object_ = nullptr;
    object_current_ = false;
    own_bytes_ = bytes_message(std::move(copied));
    body_ = &own_bytes_;
    bytes_ = own_bytes_.view();
    bytes_current_ = true;
    return;
  }
  const void* const original = object_;
  make_own(nullptr);
  static_cast<MessageLite*>(own_object_)->CheckTypeAndMergeFrom(lite(original));
}

rpc::message_to_send intercepted_message::to_send() const noexcept {
  if (body_ && bytes_current_) return {&rpc::bytes_codec, body_};
  return {codec_, object_};
}

void intercepted_message::refilled(const bytes_view* body) {
  object_current_ = true;
  bytes_current_ = body != nullptr;
  changed_ = lent_ = false;
  body_ = nullptr;
  if (!body) return;
  own_bytes_.assign(*body);
  bytes_ = own_bytes_.view();
}

}  // namespace coracle
