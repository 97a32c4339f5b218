// observer_group: several observers of one server or channel, each with its own data of a call.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace coracle::rpc {

// What each observer of a group has stored in the `user` pointer of one object (a call, an attempt). The
// pointer itself holds the list of them between two notifications.
// Pointer: to an observer, shared or not.
template <class Pointer>
class observer_group {
 public:
  explicit observer_group(std::vector<Pointer> all) noexcept : all_(std::move(all)) {}

  // Makes the list. Without memory for it, the observers miss this call or attempt.
  void begin(void*& user) const noexcept { user = new (std::nothrow) void*[all_.size()](); }
  void end(void*& user) const noexcept { delete[] static_cast<void**>(std::exchange(user, nullptr)); }

  // Calls notify(observer) with `user` being the observer's own.
  template <class Notify>
  void each(void*& user, Notify notify) const noexcept {
    void** const list = static_cast<void**>(user);
    if (!list) return;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      user = list[i];
      notify(*all_[i]);
      list[i] = user;
    }
    user = list;
  }

  [[nodiscard]] const std::vector<Pointer>& all() const noexcept { return all_; }

 private:
  std::vector<Pointer> all_;
};

}  // namespace coracle::rpc
