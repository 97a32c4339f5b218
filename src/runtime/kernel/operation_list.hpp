// operation_list: operations in flight, linked through their own members.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>

namespace coracle::runtime_internal {

// A FIFO with removal from the middle. Owns nothing; an operation is in at most one list.
class operation_list {
 public:
  operation_list() noexcept = default;
  operation_list(const operation_list&) = delete;
  operation_list& operator=(const operation_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] operation* first() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push(operation& op) noexcept {
    op.next = nullptr;
    op.prev = last_;
    (last_ ? last_->next : first_) = &op;
    last_ = &op;
    ++size_;
  }
  void remove(operation& op) noexcept {
    (op.prev ? op.prev->next : first_) = op.next;
    (op.next ? op.next->prev : last_) = op.prev;
    --size_;
  }
  operation* pop() noexcept {
    operation* op = first_;
    if (op) remove(*op);
    return op;
  }

 private:
  operation* first_ = nullptr;
  operation* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace coracle::runtime_internal
