// handover: how a server is replaced by a new process: as a successor first, then as a predecessor that waits
// at the path.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "runtime/kernel/packet_socket.hpp"
#include "server/handover/descriptor_store.hpp"
#include "server/handover/main_process.hpp"
#include "server/handover/succession.hpp"
#include "server/handover/successor_process.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::server_internal {

class predecessor;
class server_state;

// Part of the state of a server with server_options::handover. Made by the first listen(), on any thread;
// lives on loop 0 from begin() on.
class handover {
 public:
  explicit handover(server_state& of);
  handover(const handover&) = delete;
  handover& operator=(const handover&) = delete;
  ~handover();

  // --- while the server is set up
  // Blocks: see succession::begin().
  [[nodiscard]] status open();
  // Whether another process still serves, which this one was to replace.
  [[nodiscard]] bool has_not_taken_over() const noexcept { return is_successor_ && !serves_; }
  [[nodiscard]] succession& from() noexcept { return from_; }
  [[nodiscard]] descriptor_store& store() noexcept { return store_; }

  // --- loop 0
  // The server serves from now on: takes possession of what a predecessor has passed on, then waits for
  // successors. Idempotent. `alive` owns this object. Without memory there are no successors.
  void begin(const std::shared_ptr<server_state>& alive) noexcept;
  // Starts the program of this process once more.
  void start_successor() noexcept;
  // The server ends: a successor that serves already gets everything, others get nothing. Leads to ended().
  void end() noexcept;
  // Whether a successor serves already, and this process goes on if it fails.
  [[nodiscard]] bool is_being_replaced() const noexcept;

  // Set when nothing more happens. Any loop may wait for it.
  [[nodiscard]] event<>& ended() noexcept { return ended_; }
  // The same, for runtime_core::wait().
  coro::blocking_signal finished;
  // Whether a successor has taken over.
  [[nodiscard]] bool replaced() const noexcept { return replaced_; }
  // After ended(), when the listening sockets are closed: a process that has connected meanwhile finds the
  // path and the addresses free. Idempotent, any thread.
  void release() noexcept;
  // Why this process must end, although it was not asked to.
  [[nodiscard]] const status& failure() const noexcept { return failure_; }

 private:
  void cannot_begin() noexcept;
  static task<> run(std::shared_ptr<server_state> alive, handover& self);
  struct no_conversation;
  task<> run_until_end();
  task<> serve_path();
  [[nodiscard]] task<> serve_successor(runtime_internal::kernel::owned_descriptor connection);
  [[nodiscard]] task<bool> become_owner();
  [[nodiscard]] task<std::int64_t> serve_one_successor();
  [[nodiscard]] task<bool> hand_over_to(predecessor& conversation);
  void watch_refused(predecessor& conversation) noexcept;
  task<> until_gone(runtime_internal::kernel::owned_descriptor connection,
                    runtime_internal::kernel::owned_descriptor process);
  void start_successor_now();
  void use_path(bool replaces) noexcept;
  void listen_again() noexcept;
  void child_has_ended(std::int64_t process_id) noexcept;
  void leave_to_successor(predecessor& conversation) noexcept;
  void log(log_level level, std::string_view text) noexcept;

  server_state& server_;
  succession from_;
  runtime_internal::kernel::owned_descriptor control_;
  predecessor* conversation_ = nullptr;  // in progress
  scope refused_;  // a task for each process that got nothing, and has not ended
  event<> ending_;
  event<> ended_;
  successor_process child_;
  main_process service_;
  descriptor_store store_;
  status failure_;
  status out_of_memory_;  // moved to failure_ if so
  bool begun_ = false;
  bool is_successor_ = false;
  bool serves_ = false;  // everything belongs to this process
  std::atomic<bool> owns_path_{false};
  std::atomic<bool> is_released_{false};
  bool start_later_ = false;  // start_successor() was called when it could not be decided
  bool replaced_ = false;
};

}  // namespace coracle::server_internal
