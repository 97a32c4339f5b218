// sim_backend: the backend of a loop in the simulated world.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/sim/network.hpp"

#include <deque>
#include <memory>

namespace coracle::sim {

// The progress of a send; stored in its operation's scratch.
struct send_progress {
  std::size_t piece;
  std::size_t offset;
  std::size_t total;
};

// One per loop, all on the world's thread. Stricter than a kernel: aborts when a handle is used after its
// close, or closed while an operation is in flight. Frees each chunk of bytes when its call ends, so that the
// sanitizers detect late accesses.
//
// After its host has crashed the backend is cut off: all requests fail with -ECANCELED, nothing reaches the
// network or the trace, and it has a clock of its own.
class sim_backend final : public runtime_internal::backend {
 public:
  sim_backend(network& net, host_state& host) noexcept
      : net_(net), host_(host), random_(net.random().draw()) {}
  ~sim_backend() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "sim"; }
  void submit(runtime_internal::operation& op) noexcept override;
  void cancel(runtime_internal::operation& op) noexcept override;

  void start_accept(runtime_internal::handle listener,
                    runtime_internal::accept_source& source) noexcept override;
  void stop_accept(runtime_internal::accept_source& source) noexcept override;
  std::int64_t accept_now(runtime_internal::handle listener) noexcept override;
  void start_receive(runtime_internal::handle connection,
                     runtime_internal::receive_source& source) noexcept override;
  void pause_receive(runtime_internal::receive_source& source) noexcept override;
  void resume_receive(runtime_internal::receive_source& source) noexcept override;
  void stop_receive(runtime_internal::receive_source& source) noexcept override;

  std::int64_t open_stream(int family) noexcept override;
  std::int64_t bind_stream(runtime_internal::handle h,
                           const runtime_internal::raw_address& at) noexcept override;
  std::int64_t open_listener(const runtime_internal::raw_address& at,
                             const runtime_internal::listen_options& options) noexcept override;
  std::int64_t open_datagram(const runtime_internal::raw_address& at,
                             const runtime_internal::listen_options& options) noexcept override;
  std::int64_t connect_datagram(runtime_internal::handle h,
                                const runtime_internal::raw_address& to) noexcept override;
  std::int64_t local_address(runtime_internal::handle h,
                             runtime_internal::raw_address& out) noexcept override;
  std::int64_t peer_address(runtime_internal::handle h, runtime_internal::raw_address& out) noexcept override;
  void shutdown_send(runtime_internal::handle h) noexcept override;
  void close(runtime_internal::handle h, bool abort) noexcept override;

  // A pipe is a connection to the same host without latency; descriptors of the machine are not accepted.
  [[nodiscard]] bool takes_descriptors() const noexcept override { return false; }
  [[nodiscard]] bool is_disk_file(runtime_internal::handle) noexcept override { return false; }
  std::int64_t open_pipe(runtime_internal::handle (&ends)[2]) noexcept override;

  // A simulated listener removes its name when it closes: there is never a stale one.
  std::int64_t remove_stale_path(const runtime_internal::raw_address& at) noexcept override;
  void remove_path(const runtime_internal::raw_address& at) noexcept override;
  std::int64_t open_signals(std::uint32_t set) noexcept override;
  std::uint32_t take_signals(runtime_internal::handle h) noexcept override;
  void close_signals(runtime_internal::handle h) noexcept override;
  bool resolve_name(std::string_view name, runtime_internal::name_answer& out) override;

  // Delivers completions; never waits, whatever `until` is, because the world moves the clock.
  void turn(time_point until) noexcept override;
  void wake() noexcept override {}
  [[nodiscard]] int pollable(time_point) noexcept override { return -1; }
  // The wall clock of a host at `when`, in nanoseconds since 1970.
  [[nodiscard]] static std::int64_t wall_ns_at(time_point when, const host_state& host) noexcept;
  [[nodiscard]] time_point now() noexcept override { return own_time_ ? *own_time_ : net_.now(); }
  [[nodiscard]] std::int64_t wall_ns() noexcept override;
  [[nodiscard]] std::uint64_t random() noexcept override { return random_.draw(); }
  [[nodiscard]] const runtime_internal::counters& stats() const noexcept override { return counters_; }

  // Called by the world when the host has crashed; `own_time` is the backend's clock from now on.
  void cut_off(const time_point& own_time) noexcept { own_time_ = &own_time; }

  // Called by the network.
  [[nodiscard]] bool has_ready() const noexcept { return !due_.empty(); }
  void finish(runtime_internal::operation& op, std::int64_t result) noexcept;
  void queue(receiving& r) noexcept;
  void queue(accepting& a) noexcept;
  static sim_backend& of(const runtime_internal::operation& op) noexcept;
  static send_progress& progress_of(runtime_internal::operation& op) noexcept;

 private:
  struct due {
    runtime_internal::operation* op = nullptr;
    std::int64_t result = 0;
    receiving* receive = nullptr;
    accepting* accept = nullptr;
  };
  void deliver(const due& d) noexcept;
  void deliver(receiving& r) noexcept;
  void deliver(accepting& a) noexcept;
  void end(receiving& r, std::int64_t result) noexcept;
  static runtime_internal::operation** slot(socket& s, const runtime_internal::operation& op) noexcept;

  [[nodiscard]] bool is_cut_off() const noexcept { return own_time_; }

  network& net_;
  host_state& host_;
  const time_point* own_time_ = nullptr;
  seeded_random random_;
  std::deque<due> due_;
  runtime_internal::counters counters_;
};

}  // namespace coracle::sim
