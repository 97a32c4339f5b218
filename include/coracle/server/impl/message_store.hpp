// message_store: keeps a loop's messages and their memory for reuse by later calls of the same method.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

namespace google::protobuf {
class MessageLite;
}

namespace coracle::server_internal {

// Debug and sanitizer builds, of the library or of a program, destroy each message with its call, so that
// they detect a reference that outlives the call.
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool reuses_messages = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
inline constexpr bool reuses_messages = false;
#else
inline constexpr bool reuses_messages = true;
#endif
#else
inline constexpr bool reuses_messages = true;
#endif

// Only protobuf messages keep their memory when they are cleared. The value is the same in every build,
// because object layouts depend on it.
template <class Message>
inline constexpr bool is_reusable = std::is_base_of_v<google::protobuf::MessageLite, Message>;

// The base of a message holder that can be reused. It belongs to one call at a time, and between two calls to
// the store of their loop.
//
// Its functions are not virtual: in a program that imports a class with two polymorphic bases from a module,
// g++ 15 and 16 leave out the functions by which the second base calls those of the class.
class reusable {
 public:
  reusable(const reusable&) = delete;
  reusable& operator=(const reusable&) = delete;

  // Destroys what the call has left in the object, and clears the message, which keeps its memory.
  void clear() noexcept { functions_.clear(*this); }

 private:
  template <class T>
  static void clear_as(reusable& of) noexcept {
    static_cast<T&>(of).clear();
  }
  template <class T>
  static std::size_t memory_bytes_as(const reusable& of) noexcept {
    return static_cast<const T&>(of).memory_bytes();
  }
  template <class T>
  static void destroy_as(reusable& of) noexcept {
    delete &static_cast<T&>(of);
  }

 protected:
  // Those of an object's class T, which has clear() and memory_bytes(), and whose objects `delete` destroys.
  struct functions {
    void (*clear)(reusable& of) noexcept;
    // The memory of the object, its message included; 0 if that cannot be measured.
    std::size_t (*memory_bytes)(const reusable& of) noexcept;
    void (*destroy)(reusable& of) noexcept;
  };
  template <class T>
  static constexpr functions functions_of = {clear_as<T>, memory_bytes_as<T>, destroy_as<T>};

  // `kind`: objects of one kind are interchangeable. 0: the object is destroyed with its call.
  reusable(std::uint32_t kind, const functions& of) noexcept : functions_(of), kind_(kind) {}
  ~reusable() = default;

 private:
  friend class message_store;
  const functions& functions_;
  reusable* next_ = nullptr;
  std::uint32_t kind_;
  // How many more bytes may be decoded into the message before it is measured.
  std::uint32_t unmeasured_bytes_left_ = 0;
  std::uint32_t charged_bytes_ = 0;  // 0: the store does not account for it
  std::uint32_t round_ = 0;  // when it was last given back
};

// The kind number of a class. It is assigned when the first object of the class is made, and is 0 until then;
// no store has objects of kind 0. It is always 0 in a build that does not reuse messages.
template <class T>
class kind_of {
 public:
  [[nodiscard]] static std::uint32_t known() noexcept { return number_.load(std::memory_order_relaxed); }
  [[nodiscard]] static std::uint32_t assigned() noexcept;

 private:
  static inline constinit std::atomic<std::uint32_t> number_{0};
};

// The memory of a message beyond its object; 0 if it cannot be measured (LITE_RUNTIME).
template <class Message>
[[nodiscard]] std::size_t measured_bytes(const Message& m) noexcept {
  if constexpr (requires { m.SpaceUsedLong(); }) return m.SpaceUsedLong();
  else return 0;
}

// Keeps cleared messages for reuse. Belongs to one loop, and outlives the calls that take messages from it.
//
// A reused message keeps the memory of every field that any of its calls has set, so a peer could make it
// grow call by call. The store prevents that: it keeps a message only if little was decoded into it; it
// measures a message when it comes back for the first time, and again each time measuring_interval_bytes were
// decoded into it; and all messages of the store share a budget. The budget also counts the messages that
// calls use at the moment, so that a steady load changes no counter.
//
// The store frees a message that no call has used for a whole idle_interval.
class message_store {
 public:
  // The maximum size on the wire: a larger message is destroyed with its call.
  static constexpr std::size_t wire_bytes_max = 1024;
  // The maximum size in memory. Most messages that are small on the wire stay far below it, even with every
  // field that they ever had.
  static constexpr std::size_t object_bytes_max = 16u << 10;
  // Each message counts at least this much, for what it may have grown by since it was measured.
  static constexpr std::size_t object_bytes_min = 1024;
  // A message is measured after this many wire bytes were decoded into it: measuring takes a few hundred
  // instructions.
  static constexpr std::size_t measuring_interval_bytes = 4096;
  // Enough for a thousand concurrent calls.
  static constexpr std::size_t budget_bytes_max = 1u << 20;
  static constexpr duration idle_interval = std::chrono::seconds(10);
  // For give_back(): not_kept destroys the object; not_known measures it, since the program has changed it.
  static constexpr std::size_t not_kept = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t not_known = not_kept - 1;

  message_store() noexcept;
  message_store(const message_store&) = delete;
  message_store& operator=(const message_store&) = delete;
  ~message_store();

  // Sets the budget of all messages of the store, and the counter to which their memory is also added. Call
  // it before the first call.
  void limit(std::size_t budget_bytes, std::atomic<std::size_t>& accounted_in) noexcept;

  // Takes an object that was given back; null if there is none.
  template <class T>
  [[nodiscard]] T* take() noexcept {
    const std::uint32_t kind = kind_of<T>::known();
    if (kind >= kinds_ || !lists_[kind]) return nullptr;
    reusable* const r = lists_[kind];
    lists_[kind] = r->next_;
    return static_cast<T*>(r);
  }
  // Gives an object back at the end of its call. `wire_bytes`: the bytes that were decoded into its message
  // since take(), or not_kept or not_known.
  template <class T>
  void give_back(T& o, std::size_t wire_bytes) noexcept {
    reusable& r = o;
    if (wire_bytes > wire_bytes_max || wire_bytes >= r.unmeasured_bytes_left_) [[unlikely]]
      return measure(r, wire_bytes);
    r.unmeasured_bytes_left_ -= static_cast<std::uint32_t>(wire_bytes);
    o.clear();  // a direct call if the class is final
    keep(r);
  }

  // Frees the objects that no call uses.
  void release() noexcept;
  [[nodiscard]] std::size_t accounted_bytes() const noexcept { return accounted_bytes_; }

 private:
  struct idle_timer : coro::timer {
    explicit idle_timer(message_store& s) noexcept;
    message_store& of;
  };

  void keep(reusable& r) noexcept {
    r.round_ = round_;
    r.next_ = lists_[r.kind_];
    lists_[r.kind_] = &r;
  }
  [[gnu::__cold__, gnu::__noinline__]] void measure(reusable& r, std::size_t wire_bytes) noexcept;
  // False if the budget does not cover it.
  bool charge(reusable& r, std::size_t bytes) noexcept;
  void count(std::size_t change) noexcept;
  [[nodiscard]] bool make_room_for(std::uint32_t kind) noexcept;
  void destroy(reusable& r) noexcept;
  void free_unused() noexcept;

  std::unique_ptr<reusable*[]> lists_;  // by kind
  std::uint32_t kinds_ = 0;
  std::uint32_t round_ = 0;
  std::size_t budget_bytes_ = budget_bytes_max;
  std::size_t accounted_bytes_ = 0;
  std::atomic<std::size_t>* accounted_in_ = nullptr;
  coro::executor* loop_ = nullptr;  // valid while the timer is armed
  idle_timer idle_;
};

// Returns 0 if the library was built without reuse of messages.
[[nodiscard]] std::uint32_t assign_kind(std::atomic<std::uint32_t>& number) noexcept;

template <class T>
std::uint32_t kind_of<T>::assigned() noexcept {
  if constexpr (!reuses_messages) return 0;
  const std::uint32_t n = known();
  return n != 0 ? n : assign_kind(number_);
}

// A reply that a handler builds in place: see server_context::make_reply().
class made_reply : public reusable, public coro::pooled {
 public:
  // As rpc::codec_of<T>::address() returns it.
  [[nodiscard]] const void* address() const noexcept { return address_; }
  made_reply* next_made = nullptr;

 protected:
  made_reply(std::uint32_t kind, const functions& of, const void* address) noexcept
      : reusable(kind, of), address_(address) {}
  ~made_reply() = default;

 private:
  const void* address_;
};

template <class Reply>
class reply_of final : public made_reply {
 public:
  static reply_of& make(message_store& from) {
    reply_of* const kept = from.take<reply_of>();
    return kept ? *kept : *new reply_of;
  }
  reply_of() noexcept(std::is_nothrow_default_constructible_v<Reply>)
      : made_reply(kind_of<reply_of>::assigned(), functions_of<reply_of>,
                   static_cast<const google::protobuf::MessageLite*>(&message)) {}
  void clear() noexcept { message.Clear(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    const std::size_t measured = measured_bytes(message);
    return measured == 0 ? 0 : measured + sizeof(made_reply);
  }

  Reply message;
};

}  // namespace coracle::server_internal
