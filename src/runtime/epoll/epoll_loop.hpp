// epoll_loop: the backend over epoll.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/deadline_timer.hpp"
#include "runtime/kernel/kernel_backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace coracle::runtime_internal {

// A multishot source. It is in the backend's work list (an attempt or its end is due), pausing after
// exhaustion, or parked, when only its watch points to it.
struct source_state : base::list_hook, coro::pooled {
  receive_source* receiver = nullptr;  // either this or acceptor is set
  accept_source* acceptor = nullptr;
  handle on = no_handle;
  bool paused = false;
  bool ready = false;  // paused while there may be something to read
  bool stopping = false;
  bool pausing = false;  // edges do not end the pause
};

// Registered with epoll (edge-triggered, both directions) from the first operation that has to wait until
// close.
struct alignas(64) watch {
  operation_list readers;
  operation_list writers;
  source_state* source = nullptr;
  std::uint32_t generation = 0;  // counts the descriptors that had this number: identifies late events
  bool registered = false;
  bool peer_is_done = false;  // half-closed or broken: a short read does not mean "drained"
  bool drained = false;       // registered, and nothing to receive before the next edge
  [[nodiscard]] bool idle() const noexcept { return readers.empty() && writers.empty() && !source; }
};

// Provides completions on top of readiness. A turn attempts the pending operations; those that the kernel
// cannot perform yet are parked in their descriptor's watch until an edge makes them pending again. Each
// operation is attempted before it waits, so that an edge that came while nothing waited is never missed, and
// a descriptor that never has to wait is never registered.
class epoll_loop final : public kernel_backend {
 public:
  static constexpr std::uint64_t own_event = ~std::uint64_t{0};  // event data of the eventfd and the timer

  epoll_loop(logger& log, handle poll, handle event);
  ~epoll_loop() override;
  [[nodiscard]] std::string_view name() const noexcept override { return "epoll"; }

  void submit(operation& op) noexcept override;
  std::optional<std::int64_t> perform_or_submit(operation& op) noexcept override;
  void cancel(operation& op) noexcept override;
  void start_accept(handle listener, accept_source& source) override;
  void stop_accept(accept_source& source) noexcept override;
  void start_receive(handle connection, receive_source& source) override;
  void pause_receive(receive_source& source) noexcept override;
  void resume_receive(receive_source& source) noexcept override;
  void stop_receive(receive_source& source) noexcept override;
  void close(handle h, bool abort) noexcept override;
  void forget(handle h) noexcept override;
  void turn(time_point until) noexcept override;
  [[nodiscard]] int pollable(time_point next_deadline) noexcept override;

 private:
  static constexpr std::size_t buffer_bytes = 64 * 1024;
  static constexpr std::size_t watches_per_chunk = 64;  // descriptors are dense

  watch& watch_of(handle h) {
    const auto i = static_cast<std::size_t>(h);
    const std::size_t row = i / watches_per_chunk;
    return row < watches_.size() && watches_[row] ? watches_[row][i % watches_per_chunk] : make_watch(h);
  }
  watch& make_watch(handle h);
  [[nodiscard]] bool has_watch(handle h) const noexcept {
    const std::size_t row = static_cast<std::size_t>(h) / watches_per_chunk;
    return row < watches_.size() && watches_[row];
  }
  int watch_for_edges(handle h, watch& w) noexcept;
  void wait(time_point until) noexcept;
  void take_event(std::uint64_t of, std::uint32_t events) noexcept;

  // --- attempts
  void run_pending() noexcept;
  void attempt_all(watch& w, operation_list& waiting) noexcept;
  void attempt(operation& op) noexcept;
  [[nodiscard]] bool is_drained(const operation& op) noexcept;
  std::int64_t park(operation& op) noexcept;
  void move(operation& op, operation_list& to) noexcept;
  void finish(operation& op, std::int64_t result) noexcept;
  std::int64_t accept_one(handle listener) noexcept;
  std::int64_t send_immediately(operation& op) noexcept;
  std::int64_t try_send(operation& op) noexcept;
  std::int64_t try_receive(operation& op) noexcept;
  std::int64_t try_datagram(operation& op) noexcept;
  std::int64_t try_connect(operation& op) noexcept;
  std::int64_t try_poll(operation& op) noexcept;

  // --- sources
  source_state& start(handle on);  // throws std::bad_alloc
  void stop(source_state& s) noexcept;
  void serve(source_state& s) noexcept;
  void serve_receive(source_state& s) noexcept;
  void serve_accept(source_state& s) noexcept;
  void park(source_state& s) noexcept;
  void end(source_state& s, std::int64_t result) noexcept;
  void resume_paused() noexcept;
  void watch_hangup(source_state& s) noexcept;

  handle poll_;
  deadline_timer deadline_;  // for pollable()
  bool precise_ = true;  // epoll_pwait2 works
  bool delivered_ = false;  // callbacks ran in this turn
  int immediate_left_ = 0;  // operations that may still be performed inside perform_or_submit()
  int turns_without_poll_ = 0;
  std::size_t bytes_without_poll_ = 0;  // received by sources
  std::vector<std::unique_ptr<watch[]>> watches_;  // by descriptor, in rows
  operation_list pending_;
  base::intrusive_list<source_state> work_;
  struct paused_source {
    source_state* of;
    time_point until;
  };
  std::vector<paused_source> pausing_;  // has room for all acceptors that were ever started
  std::size_t acceptors_ = 0;
  std::unique_ptr<std::uint8_t[]> buffer_;
};

// Returns null, with the errno in `error`, when descriptors or memory are exhausted. `log` must outlive the
// backend.
std::unique_ptr<backend> make_epoll_backend(logger& log, int& error);

}  // namespace coracle::runtime_internal
