// A doubly linked list whose links are members of its elements: it does not allocate, and removal from the
// middle takes constant time. An element is in at most one list per hook; it unlinks itself when it is
// destroyed.
#pragma once

#include "coracle/base/impl/assert.hpp"

#include <cstddef>

namespace coracle::base {

class list_hook {
 public:
  list_hook() noexcept = default;
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;
  ~list_hook() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept {
    if (!next_) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 private:
  template <class T>
  friend class intrusive_list;
  void insert_before(list_hook& where) noexcept {
    CORACLE_ASSERT(!linked(), "the element is already in a list");
    next_ = &where;
    prev_ = where.prev_;
    prev_->next_ = this;
    where.prev_ = this;
  }
  list_hook* next_ = nullptr;
  list_hook* prev_ = nullptr;
};

// T derives from list_hook. The list does not own its elements.
template <class T>
class intrusive_list {
 public:
  intrusive_list() noexcept { head_.next_ = head_.prev_ = &head_; }
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;
  ~intrusive_list() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.prev_ = nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }
  void push_back(T& item) noexcept { static_cast<list_hook&>(item).insert_before(head_); }
  void push_front(T& item) noexcept { static_cast<list_hook&>(item).insert_before(*head_.next_); }
  [[nodiscard]] T* front() noexcept { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* pop_front() noexcept {
    T* item = front();
    if (item) static_cast<list_hook*>(item)->unlink();
    return item;
  }
  // Calls `f` for each element, in order. `f` must not change the list.
  template <class F>
  void for_each(F f) {
    for (list_hook* at = head_.next_; at != &head_; at = at->next_) f(static_cast<T&>(*at));
  }
  template <class F>
  void for_each(F f) const {
    for (const list_hook* at = head_.next_; at != &head_; at = at->next_) f(static_cast<const T&>(*at));
  }
  // Moves all elements of `other` to the end of this list.
  void take(intrusive_list& other) noexcept {
    if (other.empty()) return;
    list_hook* first = other.head_.next_;
    list_hook* last = other.head_.prev_;
    other.head_.next_ = other.head_.prev_ = &other.head_;
    first->prev_ = head_.prev_;
    first->prev_->next_ = first;
    last->next_ = &head_;
    head_.prev_ = last;
  }

 private:
  list_hook head_;
};

}  // namespace coracle::base
