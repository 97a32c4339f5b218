// sim::world: hosts, links and a clock on one thread, driven by a seed. Programs inside run as they do outside.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/runtime/name_record.hpp"
#include "coracle/runtime/process_signal.hpp"
#include "coracle/runtime/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::sim {

class world_options {
 public:
  world_options() noexcept {}
  // One way between hosts. Default 50 us. Within a host it is always 5 us.
  world_options& latency(duration d) noexcept { return latency_ = d, *this; }
  // What one direction of a connection holds until its reader takes it; then its sender waits. Default 256
  // KiB.
  world_options& socket_buffer(std::size_t bytes) noexcept { return socket_buffer_ = bytes, *this; }
  // Must outlive the world. Default: stderr_logger().
  world_options& log_to(logger& log) noexcept { return log_ = &log, *this; }

  [[nodiscard]] duration latency() const noexcept { return latency_; }
  [[nodiscard]] std::size_t socket_buffer() const noexcept { return socket_buffer_; }
  [[nodiscard]] logger& log() const noexcept { return log_ ? *log_ : stderr_logger(); }

 private:
  duration latency_ = std::chrono::microseconds(50);
  std::size_t socket_buffer_ = 256 * 1024;
  logger* log_ = nullptr;
};

// Everything in it, the world included, is for one plain thread. Two runs with the same seed and the same
// programs take the same steps: virtual time moves only when no loop has anything left to do at the present
// moment, and then jumps to the next thing that will happen. Computing takes no virtual time.
//
// Its links lose nothing and keep the order; only the order in which loops get their turns is drawn from
// the seed. The runtimes of hosts may be used as any other (spawn, sync_wait, run), and drive the whole
// world then.
class world {
 public:
  explicit world(std::uint64_t seed, const world_options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  // Stops the runtimes of all hosts and waits, in virtual time, until their roots have ended.
  ~world();

  // The runtime of the host of that name, made with so many loops on the first call; it lives as long as
  // the world. A host has the address 10.0.0.n, the loopbacks and UNIX sockets of its own; n counts from 1.
  runtime& host(std::string_view name, std::size_t loops = 1);
  // "10.0.0.1"; the host must exist.
  [[nodiscard]] std::string address_of(std::string_view name) const;
  // What net::resolver gives for `name` from now on, on every host. The name of a host stands for its
  // address unless this says something else.
  void set_name(std::string_view name, const name_record& record);
  // Sends it a signal. False when nobody there watches for it: a real program might have died of it.
  bool signal(std::string_view name, process_signal s);

  // Goes on until nothing is left to do: nothing is ready, no timer is armed and no byte is on its way. A
  // task that waits for what will never happen does not hold this up; one that sets timers for ever does:
  // use run_for().
  void run();
  // Goes on until the condition, looked at between rounds of turns, holds. False when nothing was left to
  // do before.
  bool run_until(const std::function<bool()>& condition);
  // Lets so much virtual time pass.
  void run_for(duration d);

  [[nodiscard]] time_point now() const noexcept;
  // Over connects, accepts, bytes, ends, resets, closes, signals and timers with their times. Equal seeds
  // and programs give equal hashes; a test that runs a seed twice compares them.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  // How many events the hash covers.
  [[nodiscard]] std::uint64_t trace_length() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::sim
