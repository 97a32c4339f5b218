// tree_node: what a dump of the tasks knows of one coroutine; task_tree: all that an executor runs.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/impl/intrusive_list.hpp"

#include <concepts>
#include <coroutine>
#include <source_location>
#include <string>
#include <utility>

namespace coracle::coro {

// Told of each co_await of one thread's coroutines, before anything of it happens: for tests, such as those
// that stop a program at every one of its awaits. One a thread at a time.
class await_observer {
 public:
  virtual void awaiting(const std::source_location& where) noexcept = 0;
  // Gives the one before, null for none.
  static await_observer* exchange(await_observer* o) noexcept { return std::exchange(current_, o); }
  static void tell(const std::source_location& where) noexcept {
    if (current_) [[unlikely]]
      current_->awaiting(where);
  }

 protected:
  ~await_observer() = default;

 private:
  [[gnu::visibility("default")]] static inline constinit thread_local await_observer* current_ = nullptr;
};

// Part of each promise. Two kinds hang together in a tree: a coroutine that another one awaits hangs
// below it by `awaits`; one that runs beside its parent (a root, a task of a scope, of when_all, a handler)
// is a branch, which the executor's task_tree lists.
class tree_node : public base::list_hook {
 public:
  // Called at each co_await and co_yield, before anything of it happens.
  void note(const std::source_location& where) noexcept {
    where_ = where;
    base::last_noted = where;
    await_observer::tell(where);
  }
  // Called when what it awaited has ended.
  void resumed() noexcept {
    awaits_ = nullptr;
    base::last_noted = where_;
  }
  void await(const tree_node& child) noexcept { awaits_ = &child; }

  // Line 0 until the first co_await.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
  [[nodiscard]] const tree_node* awaits() const noexcept { return awaits_; }
  // Of a branch. To be compared with only: it may be gone.
  [[nodiscard]] const tree_node* parent() const noexcept { return parent_; }
  // Who awaited this_environment() last on this thread, which is who makes a scope, as a rule. To be
  // compared with only.
  [[nodiscard]] static const tree_node* asker() noexcept { return asker_; }
  static void set_asker(const tree_node* node) noexcept { asker_ = node; }

 private:
  friend class task_tree;
  std::source_location where_;
  const tree_node* awaits_ = nullptr;
  const tree_node* parent_;  // read of branches only
  [[gnu::visibility("default")]] static inline constinit thread_local const tree_node* asker_ = nullptr;
};

// An executor's branches, for its thread only.
class task_tree {
 public:
  void add(tree_node& branch, const tree_node* parent) noexcept {
    branch.parent_ = parent;
    branches_.push_back(branch);
  }
  // A line for each suspended coroutine, children indented below their parents, equal siblings counted:
  //   "serve at server.cpp:31\n  3 x session at server.cpp:54\n"
  // Where the parent of a branch cannot be told, the branch stands at the left. Empty without tasks. Takes
  // memory and time in proportion to the tasks: for people, not for programs.
  [[nodiscard]] std::string describe() const;

 private:
  base::intrusive_list<tree_node> branches_;
};

// The node behind any coroutine handle; null for foreign promises.
template <class Promise>
const tree_node* node_of(std::coroutine_handle<Promise> h) noexcept {
  if constexpr (std::derived_from<Promise, tree_node>) return &h.promise();
  else return nullptr;
}

// "function at file:line"; the file's name without its folders.
std::string describe(const std::source_location& where);

}  // namespace coracle::coro
