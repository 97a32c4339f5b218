// sim::world: hosts, links and a clock on one thread, driven by a seed. Programs inside run as they do outside.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/runtime/name_record.hpp"
#include "coracle/runtime/process_signal.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::sim {

class world_options {
 public:
  world_options() noexcept {}
  // One way between hosts. Default 50 us. Within a host it is always 5 us.
  world_options& latency(duration d) noexcept { return latency_ = d, *this; }
  // What one direction of a connection holds until its reader takes it; then its sender waits. Default 256
  // KiB.
  world_options& socket_buffer(std::size_t bytes) noexcept { return socket_buffer_ = bytes, *this; }
  // What goes wrong from the start; see world::set_faults(). Default: nothing.
  world_options& inject(const faults& f) noexcept { return faults_ = f, *this; }
  // How many events world::last_events() remembers. Default 0.
  world_options& keep_events(std::size_t n) noexcept { return kept_events_ = n, *this; }
  // Must outlive the world. Default: stderr_logger().
  world_options& log_to(logger& log) noexcept { return log_ = &log, *this; }
  // Of the runtimes of all hosts, as runtime_options::memory().
  world_options& memory(std::pmr::memory_resource& from) noexcept { return memory_ = &from, *this; }

  [[nodiscard]] duration latency() const noexcept { return latency_; }
  [[nodiscard]] std::size_t socket_buffer() const noexcept { return socket_buffer_; }
  [[nodiscard]] const faults& going_wrong() const noexcept { return faults_; }
  [[nodiscard]] std::size_t kept_events() const noexcept { return kept_events_; }
  [[nodiscard]] logger& log() const noexcept { return log_ ? *log_ : stderr_logger(); }
  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return memory_; }

 private:
  faults faults_;
  std::size_t kept_events_ = 0;
  duration latency_ = std::chrono::microseconds(50);
  std::size_t socket_buffer_ = 256 * 1024;
  logger* log_ = nullptr;
  std::pmr::memory_resource* memory_ = nullptr;
};

// Everything in it, the world included, is for one plain thread. Two runs with the same seed and the same
// programs take the same steps: virtual time moves only when no loop has anything left to do at the present
// moment, and then jumps to the next thing that will happen. Computing takes no virtual time.
//
// Without faults its links lose nothing and keep the order; only the order in which loops get their turns is
// drawn from the seed. The runtimes of hosts may be used as any other (spawn, sync_wait, run), and drive the
// whole world then.
//
// A program inside is deterministic as long as it reads no clock and no chance but the loop's, and nothing that depends
// on addresses in memory (the order of a set of pointers).
class world {
 public:
  explicit world(std::uint64_t seed, const world_options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  // Stops the runtimes of all hosts and waits, in virtual time, until their roots have ended.
  ~world();

  // The runtime of the host of that name, made with so many loops on the first call. A host has the address
  // 10.0.0.n, the loopbacks and UNIX sockets of its own; n counts from 1. The host must not be down.
  runtime& host(std::string_view name, std::size_t loops = 1);
  // A new host with a program: called now and at each restart, on this thread, with the runtime of the host's new
  // life. It spawns tasks there, and gives what is to live as long as they do (servers, channels; may be null):
  // that is destroyed when the host goes down, after the tasks have ended and before the runtime.
  using program = std::function<std::shared_ptr<void>(runtime&)>;
  runtime& start(std::string_view name, program starts, std::size_t loops = 1);
  // "10.0.0.1"; the host must exist.
  [[nodiscard]] std::string address_of(std::string_view name) const;
  // What net::resolver gives for `name` from now on, on every host. The name of a host stands for its
  // address unless this says something else.
  void set_name(std::string_view name, const name_record& record);
  // Sends it a signal. False when nobody there watches for it: a real program might have died of it.
  bool signal(std::string_view name, process_signal s);

  // --- Faults by call. Outside of turns, or by a task.
  // From now on; partitions and crashes that were drawn before are still mended.
  void set_faults(const faults& f);
  // The two hosts cannot reach each other until heal(). What they send meanwhile is sent again then, unless a
  // connection has given up (silence_noticed_after; connecting: 6 s).
  void partition(std::string_view a, std::string_view b);
  void heal(std::string_view a, std::string_view b);
  void heal();  // all
  // Power loss. At once: nothing the host does reaches the network, the trace or the log any more, and what it had
  // not put on the wire is lost. Its peers hear nothing while it is down, a reset when they speak to it after a
  // restart. Then its runtime is stopped, every I/O of it fails with CANCELLED, and its tasks run to their ends in a time
  // of their own, before anybody else's next turn: destructors and catch blocks run, as they do not when power fails;
  // what they write to memory outside of the host is seen there. Aborts when a task does not end.
  void crash(std::string_view host);
  // Same name and address, a new runtime (host() gives it), its program started again. Nothing when it is up.
  void restart(std::string_view host);
  [[nodiscard]] bool is_up(std::string_view host) const;
  // Moves the host's wall clock (loop::wall_now()); timers and deadlines do not notice.
  void jump_wall_clock(std::string_view host, duration by);

  // --- Going on.
  // Goes on until nothing is left to do: nothing is ready, no timer is armed and no byte is on its way. A
  // task that waits for what will never happen does not hold this up; one that sets timers for ever does:
  // use run_for().
  void run();
  // Goes on until the condition, looked at between rounds of turns, holds. False when nothing was left to
  // do before.
  bool run_until(const std::function<bool()>& condition);
  // False also when so much virtual time has passed: the watchdog of a test.
  bool run_until(const std::function<bool()>& condition, duration at_most);
  // Lets so much virtual time pass.
  void run_for(duration d);

  [[nodiscard]] time_point now() const noexcept;
  // Over connects, accepts, bytes, ends, resets, closes, signals, timers and faults with their times. Equal seeds
  // and programs give equal hashes; a test that runs a seed twice compares them.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  // How many events the hash covers.
  [[nodiscard]] std::uint64_t trace_length() const noexcept;
  // The last world_options::keep_events() of them, one a line.
  [[nodiscard]] std::vector<std::string> last_events() const;
  // Which tasks wait where, host by host: for whoever looks for a hang.
  [[nodiscard]] std::string tasks() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::sim
