// debugger_entry: makes the tasks of an executor visible to a debugger, in a process and in its core file.
#pragma once

#include "coracle/coro/executor.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::coro {

// An executor, as packaging/gdb/coracle-gdb.py reads it. The script reads records and the nodes of tasks as
// raw memory, so that it works without debug information. If you change the order of these members or what
// debugger_tasks means, increment debugger_data::current_version and adapt the script.
struct debugger_record {
  debugger_record* next;
  debugger_record* previous;
  const task_tree* tasks;  // begins with the head of the list of branches: next, previous
  const void* owner;       // the same for the executors of one runtime
  std::size_t index;
};

// All records of the process, and where a tree_node has its members. A tree_node begins with its list_hook.
struct debugger_data {
  static constexpr std::uint64_t current_version = 1;
  std::uint64_t version;
  std::uint64_t where_offset;
  std::uint64_t awaits_offset;
  std::uint64_t parent_offset;
  debugger_record* first;

  static consteval debugger_data empty() noexcept;
};
// Its symbol must survive, whatever visibility and optimisation at link time do to others.
[[gnu::visibility("default")]] extern debugger_data debugger_tasks;

// Lists an executor in debugger_tasks for the lifetime of the entry. Any thread may make and destroy one.
class debugger_entry {
 public:
  debugger_entry(executor& of, const void* owner, std::size_t index) noexcept;
  debugger_entry(const debugger_entry&) = delete;
  debugger_entry& operator=(const debugger_entry&) = delete;
  ~debugger_entry();

 private:
  debugger_record record_;
};

}  // namespace coracle::coro
