// A singly linked FIFO queue whose link is a member of its elements. For one thread.
#pragma once

namespace coracle::base {

// T has a member `T* next`, which the queue uses while the element is in it. A queue of a base type may hold
// objects of derived types.
template <class T>
class intrusive_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  void push(T& item) noexcept {
    item.next = nullptr;
    *tail_ = &item;
    tail_ = &item.next;
  }
  T* pop() noexcept {
    T* item = head_;
    if (!item) return nullptr;
    head_ = item->next;
    if (!head_) tail_ = &head_;
    return item;
  }
  intrusive_queue() noexcept = default;
  intrusive_queue(const intrusive_queue&) = delete;
  intrusive_queue& operator=(const intrusive_queue&) = delete;
  // Moves all elements of `other`, in order, to the end of this queue.
  void take(intrusive_queue& other) noexcept {
    if (other.empty()) return;
    *tail_ = other.head_;
    tail_ = other.tail_;
    other.head_ = nullptr;
    other.tail_ = &other.head_;
  }

 private:
  T* head_ = nullptr;
  T** tail_ = &head_;
};

}  // namespace coracle::base
