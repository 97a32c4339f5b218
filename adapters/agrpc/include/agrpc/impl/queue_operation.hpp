// queue_operation: what the tags of a completion queue point to.
#pragma once

#include "agrpc/impl/library.hpp"

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

class GrpcContext;

namespace internal {

// How an operation leaves its GrpcContext. `abandoned`: the context is being destroyed, and no handler is called.
enum class event { ok, failed, abandoned };

// An operation of a GrpcContext, which counts as outstanding work from its start until process() has returned. Its
// address is the tag.
class queue_operation {
 public:
  using process_function = void (*)(queue_operation&, event, GrpcContext&);

  queue_operation(const queue_operation&) = delete;
  queue_operation& operator=(const queue_operation&) = delete;
  [[nodiscard]] void* tag() noexcept { return this; }
  void process(event e, GrpcContext& context) { process_(*this, e, context); }

 protected:
  explicit queue_operation(process_function f) noexcept : process_(f) {}
  ~queue_operation() = default;

 private:
  friend class operation_list;
  process_function process_;
  queue_operation* next_ = nullptr;
};

// A queue of operations, first in, first out.
class operation_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push(queue_operation& added) noexcept {
    added.next_ = nullptr;
    if (last_) last_->next_ = &added;
    else first_ = &added;
    last_ = &added;
    ++size_;
  }
  // Null if it is empty.
  [[nodiscard]] queue_operation* pop() noexcept {
    queue_operation* const taken = first_;
    if (!taken) return nullptr;
    first_ = taken->next_;
    if (!first_) last_ = nullptr;
    --size_;
    return taken;
  }

 private:
  queue_operation* first_ = nullptr;
  queue_operation* last_ = nullptr;
  std::size_t size_ = 0;
};

// A function that an executor was given.
template <class Function, class Allocator>
class posted_function : public queue_operation {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<posted_function>;
  using traits = std::allocator_traits<allocator>;

 public:
  template <class F>
  [[nodiscard]] static posted_function& make(F&& function, const Allocator& from) {
    allocator memory(from);
    const typename traits::pointer made = traits::allocate(memory, 1);
    try {
      return *::new (static_cast<void*>(std::to_address(made)))
          posted_function(std::forward<F>(function), memory);
    } catch (...) {
      traits::deallocate(memory, made, 1);
      throw;
    }
  }

 private:
  template <class F>
  posted_function(F&& function, const allocator& memory)
      : queue_operation(&posted_function::arrived), function_(std::forward<F>(function)), memory_(memory) {}
  ~posted_function() = default;

  static void arrived(queue_operation& o, event e, GrpcContext&) {
    auto& self = static_cast<posted_function&>(o);
    allocator memory(self.memory_);
    Function function(std::move(self.function_));
    self.~posted_function();
    traits::deallocate(memory, std::pointer_traits<typename traits::pointer>::pointer_to(self), 1);
    if (e != event::abandoned) std::move(function)();
  }

  Function function_;
  [[no_unique_address]] allocator memory_;
};

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
