// Stop tokens of the small provider of senders: never_stop_token and the three inplace_stop classes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace stdexec {

struct never_stop_token {
  template <class Function>
  struct callback_type {
    callback_type(never_stop_token, Function) noexcept {}
  };
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  friend bool operator==(never_stop_token, never_stop_token) noexcept = default;
};

class inplace_stop_source;

// An entry in the list of a source.
class inplace_callback_base {
 public:
  inplace_callback_base(const inplace_callback_base&) = delete;
  inplace_callback_base& operator=(const inplace_callback_base&) = delete;

 protected:
  using function = void (*)(inplace_callback_base&) noexcept;
  explicit inplace_callback_base(function f) noexcept : function_(f) {}
  ~inplace_callback_base() = default;
  void add_to(inplace_stop_source* source) noexcept;
  void remove() noexcept;

 private:
  friend class inplace_stop_source;
  function function_;
  inplace_stop_source* source_ = nullptr;
  inplace_callback_base* next_ = nullptr;
};

template <class Function>
class inplace_stop_callback;

class inplace_stop_token {
 public:
  template <class Function>
  using callback_type = inplace_stop_callback<Function>;
  inplace_stop_token() noexcept = default;
  [[nodiscard]] bool stop_requested() const noexcept;
  [[nodiscard]] bool stop_possible() const noexcept { return source_ != nullptr; }
  friend bool operator==(const inplace_stop_token&, const inplace_stop_token&) noexcept = default;

 private:
  friend class inplace_stop_source;
  template <class Function>
  friend class inplace_stop_callback;
  explicit inplace_stop_token(inplace_stop_source* source) noexcept : source_(source) {}
  inplace_stop_source* source_ = nullptr;
};

class inplace_stop_source {
 public:
  inplace_stop_source() = default;
  inplace_stop_source(const inplace_stop_source&) = delete;
  inplace_stop_source& operator=(const inplace_stop_source&) = delete;

  [[nodiscard]] inplace_stop_token get_token() noexcept { return inplace_stop_token(this); }
  [[nodiscard]] bool stop_requested() const noexcept {
    const std::lock_guard lock(mutex_);
    return requested_;
  }
  bool request_stop() noexcept {
    std::unique_lock lock(mutex_);
    if (std::exchange(requested_, true)) return false;
    requester_ = std::this_thread::get_id();
    while (first_) {
      running_ = std::exchange(first_, first_->next_);
      lock.unlock();
      running_->function_(*running_);
      lock.lock();
      running_ = nullptr;
      ended_.notify_all();
    }
    return true;
  }

 private:
  friend class inplace_stop_token;
  friend class inplace_callback_base;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool requested_ = false;
  inplace_callback_base* first_ = nullptr;
  inplace_callback_base* running_ = nullptr;
  std::thread::id requester_;
};

inline bool inplace_stop_token::stop_requested() const noexcept {
  return source_ && source_->stop_requested();
}

inline void inplace_callback_base::add_to(inplace_stop_source* source) noexcept {
  if (!source) return;
  {
    const std::lock_guard lock(source->mutex_);
    if (!source->requested_) {
      source_ = source;
      next_ = std::exchange(source->first_, this);
      return;
    }
  }
  function_(*this);
}

// A callback that removes itself while it runs does not wait for its own end.
inline void inplace_callback_base::remove() noexcept {
  if (!source_) return;
  std::unique_lock lock(source_->mutex_);
  for (inplace_callback_base** at = &source_->first_; *at; at = &(*at)->next_) {
    if (*at != this) continue;
    *at = next_;
    return;
  }
  if (source_->requester_ == std::this_thread::get_id()) return;
  source_->ended_.wait(lock, [this] { return source_->running_ != this; });
}

template <class Function>
class inplace_stop_callback : inplace_callback_base {
 public:
  inplace_stop_callback(inplace_stop_token token, Function f)
      : inplace_callback_base([](inplace_callback_base& self) noexcept {
          static_cast<inplace_stop_callback&>(self).function_();
        }),
        function_(std::move(f)) {
    add_to(token.source_);
  }
  ~inplace_stop_callback() { remove(); }

 private:
  Function function_;
};

template <class Token, class Function>
using stop_callback_for_t = typename Token::template callback_type<Function>;

}  // namespace stdexec
