// stop_source and stop_token: requests to stop within one executor.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"

#include <utility>

namespace coracle::coro {

class stop_source;

/// A callback that runs once when stop is requested, on the requester's stack; it is unlinked before the
/// call. It must be destroyed or unlinked, on the executor's thread, before its source is destroyed.
class stop_callback : public base::list_hook {
 public:
  /// What is called on a stop; it gets the callback itself.
  using function = void (*)(stop_callback&) noexcept;
  /// A callback that is not registered yet: see stop_token::subscribe().
  explicit stop_callback(function f) noexcept : function_(f) {}
  /// @cond
  void operator()() noexcept { function_(*this); }
  /// @endcond

 private:
  function function_;
};

/// A view of a stop_source, or of none ("never stops"). Valid as long as the source lives.
class stop_token {
 public:
  /// A token that never stops.
  stop_token() noexcept = default;
  /// @cond
  explicit stop_token(stop_source* source) noexcept : source_(source) {}
  /// @endcond
  /// Returns whether the source was requested to stop.
  [[nodiscard]] inline bool stop_requested() const noexcept;
  /// Returns whether there is a source.
  [[nodiscard]] bool stop_possible() const noexcept { return source_ != nullptr; }
  /// Registers `c` to be called on stop. Returns false, without registering `c`, if stop was requested
  /// already.
  inline bool subscribe(stop_callback& c) const noexcept;

 private:
  stop_source* source_ = nullptr;
};

/// Requests a tree of tasks to stop. Single-threaded by design: a tree of tasks lives on one executor, and
/// code on other threads posts to that executor to stop it. Does not allocate and uses no atomics.
class stop_source : private stop_callback {
 public:
  /// A source that only its own request_stop() stops.
  stop_source() noexcept : stop_callback(&stop_source::parent_stopped) {}
  /// Makes a source that also stops when `parent` does.
  explicit stop_source(stop_token parent) noexcept : stop_source() {
    if (!parent.subscribe(*this)) requested_ = true;
  }
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  /// Calls every registered callback once, except those that are removed meanwhile. Idempotent.
  void request_stop() noexcept {
    if (std::exchange(requested_, true)) return;
    while (stop_callback* c = callbacks_.pop_front()) (*c)();
  }
  /// Returns whether stop was requested.
  [[nodiscard]] bool stop_requested() const noexcept { return requested_; }
  /// Returns a token of this source.
  [[nodiscard]] stop_token token() noexcept { return stop_token(this); }

 private:
  friend class stop_token;
  static void parent_stopped(stop_callback& self) noexcept { static_cast<stop_source&>(self).request_stop(); }
  base::intrusive_list<stop_callback> callbacks_;
  bool requested_ = false;
};

inline bool stop_token::stop_requested() const noexcept { return source_ && source_->requested_; }

inline bool stop_token::subscribe(stop_callback& c) const noexcept {
  if (!source_) return true;
  if (source_->requested_) return false;
  source_->callbacks_.push_back(c);
  return true;
}

}  // namespace coracle::coro
