// tree_node: one coroutine in a dump of tasks. task_tree: the tasks that an executor runs.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/impl/run_observer.hpp"

#include <concepts>
#include <coroutine>
#include <source_location>
#include <string>
#include <utility>

namespace coracle::coro {

// Is notified of each co_await of the coroutines of one thread, before the await begins. For tests, such as
// those that stop a program at each of its awaits. At most one per thread.
class await_observer {
 public:
  virtual void awaiting(const std::source_location& where) noexcept = 0;
  // Replaces the observer of this thread (null: none) and returns the previous one.
  static await_observer* exchange(await_observer* o) noexcept { return std::exchange(current_, o); }
  static void notify(const std::source_location& where) noexcept {
    if (current_) [[unlikely]]
      current_->awaiting(where);
  }

 protected:
  ~await_observer() = default;

 private:
  [[gnu::visibility("default")]] static inline constinit thread_local await_observer* current_ = nullptr;
};

// Part of each promise. The nodes form a tree with two kinds of edges. A coroutine that another one awaits is
// linked from it by `awaits`. A coroutine that runs concurrently with its parent (a root task, a task of a
// scope or of when_all, a handler) is a branch, which the executor's task_tree lists.
class tree_node : public base::list_hook {
 public:
  // Records an await site. Called at each co_await and co_yield, before it begins.
  void record_await_site(const std::source_location& where) noexcept {
    where_ = where;
    base::last_await_site = where;
    await_observer::notify(where);
  }
  // Called when the awaited operation has ended.
  void resumed() noexcept {
    awaits_ = nullptr;
    base::last_await_site = where_;
    run_observer::notify_resumed(*this);
  }
  void await(const tree_node& child) noexcept { awaits_ = &child; }

  // Line 0 before the first co_await.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
  [[nodiscard]] const tree_node* awaits() const noexcept { return awaits_; }
  // The parent of a branch. Use it only for comparison, because it may be gone.
  [[nodiscard]] const tree_node* parent() const noexcept { return parent_; }
  // The node that awaited this_environment() last on this thread, usually the one that makes a scope. Use it
  // only for comparison.
  [[nodiscard]] static const tree_node* scope_creator() noexcept { return scope_creator_; }
  static void set_scope_creator(const tree_node* node) noexcept { scope_creator_ = node; }

 private:
  friend class task_tree;
  friend struct debugger_data;  // private: src/coro/debugger_entry.hpp
  std::source_location where_;
  const tree_node* awaits_ = nullptr;
  const tree_node* parent_;  // set for branches only
  [[gnu::visibility("default")]] static inline constinit thread_local const tree_node* scope_creator_ =
      nullptr;
};

// The branches of one executor. For its thread only.
class task_tree {
 public:
  void add(tree_node& branch, const tree_node* parent) noexcept {
    branch.parent_ = parent;
    branches_.push_back(branch);
  }
  // Returns a line for each suspended coroutine, with children indented below their parents and equal
  // siblings counted:
  //   "serve at server.cpp:31\n  3 x session at server.cpp:54\n"
  // A branch whose parent is unknown is not indented. Empty if there are no tasks. Takes memory and time in
  // proportion to the number of tasks. The format is human-readable and may change.
  [[nodiscard]] std::string describe() const;

 private:
  base::intrusive_list<tree_node> branches_;
};

// Returns the node of a coroutine; null if the promise type is not from this library.
template <class Promise>
const tree_node* node_of(std::coroutine_handle<Promise> h) noexcept {
  if constexpr (std::derived_from<Promise, tree_node>) return &h.promise();
  else return nullptr;
}

// Returns "function at file:line", with the file name without its folders.
std::string describe(const std::source_location& where);

}  // namespace coracle::coro
