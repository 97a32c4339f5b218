// sim::world: a deterministic simulation of hosts, links and a clock on one thread, driven by a seed.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/runtime/process_signal.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim_faults.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle::sim {

/// The result of looking up one name. A value. Without addresses, the name does not exist.
class name_record {
 public:
  /// An IP address.
  struct ip {
    bool v6 = false;                       ///< IPv6, not IPv4
    std::array<std::uint8_t, 16> bytes{};  ///< the first 4 for IPv4
  };

  /// A name that does not exist.
  name_record() noexcept = default;
  /// Adds an address such as "10.0.0.1" or "fd00::1"; any other text is a defect of the test and aborts.
  /// Lookups return the addresses in the order in which they were added.
  name_record& address(std::string_view literal);
  /// Makes lookups fail with UNAVAILABLE, as if the name servers did not answer, whatever the addresses.
  name_record& failing(bool on = true) noexcept { return failing_ = on, *this; }
  /// Sets the time that a lookup takes, whatever its result. Default: 1 ms.
  name_record& latency(duration d) noexcept { return latency_ = d, *this; }

  /// Returns the addresses, in the order in which they were added.
  [[nodiscard]] const std::vector<ip>& addresses() const noexcept { return addresses_; }
  /// Returns whether lookups fail.
  [[nodiscard]] bool failing() const noexcept { return failing_; }
  /// Returns the time that a lookup takes.
  [[nodiscard]] duration latency() const noexcept { return latency_; }

 private:
  std::vector<ip> addresses_;
  duration latency_ = std::chrono::milliseconds(1);
  bool failing_ = false;
};
static_assert(!std::is_aggregate_v<name_record>, "GCC 12 destroys aggregates in co_await expressions twice");

/// Options of a simulated world: `sim::world_options{.latency = 20ms}`.
struct world_options {
  /// The one-way latency between hosts. Within a host it is always 5 us. Default: 50 us.
  duration latency = std::chrono::microseconds(50);
  /// How many bytes one direction of a connection holds until its reader takes them; a sender waits beyond
  /// that. Default: 256 KiB.
  std::size_t socket_buffer = 256 * 1024;
  /// The faults from the start; see world::set_faults(). Default: none.
  sim::faults faults{};
  /// How many events world::last_events() keeps. Default: 0.
  std::size_t keep_events = 0;
  /// The logger, which must outlive the world. Default: null, which is stderr_logger().
  logger* log = nullptr;
  /// The memory resource of the runtimes of all hosts, as runtime_options::memory. Default: null.
  std::pmr::memory_resource* memory = nullptr;
};
static_assert(std::is_trivially_destructible_v<world_options>, "an aggregate owns nothing: GCC 12");

/// Simulates hosts, links and a clock. Programs run inside it as they do outside. The world and everything in
/// it is for one plain thread. Two runs with the same seed and the same programs take the same steps: virtual
/// time advances only when no loop has anything left to do at the present moment, and then jumps to the next
/// event. Computation takes no virtual time.
///
/// Without faults, links lose nothing and keep the order; the seed determines only the order in which loops
/// take their turns. The runtimes of the hosts can be used like any other (spawn, sync_wait, run), and then
/// drive the whole world.
///
/// A program inside is deterministic if it uses no clock and no random numbers except those of its loop, and
/// nothing that depends on addresses in memory, such as the order of a set of pointers.
class world {
 public:
  /// Makes a world without hosts. The thread that makes it is the one that uses it.
  explicit world(std::uint64_t seed, const world_options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  /// Stops the runtimes of all hosts and waits, in virtual time, until their root tasks have ended.
  ~world();

  /// Returns the runtime of the host with that name. The first call makes the host, with `loops` loops. Hosts
  /// have the addresses 10.0.0.n, n counting from 1, and their own loopback addresses and UNIX sockets. The
  /// host must not be down (else: abort).
  runtime& host(std::string_view name, std::size_t loops = 1);
  /// A program of a host. It is called at the start and at each restart, on this thread, with the host's new
  /// runtime. It spawns tasks there and returns the objects that shall live as long as they do (servers,
  /// channels), or null: they are destroyed when the host goes down, after the tasks have ended and before
  /// the runtime is destroyed.
  using program = std::function<std::shared_ptr<void>(runtime&)>;
  /// Makes a new host, starts its program and returns its runtime. The name must be new (else: abort).
  runtime& start(std::string_view name, program starts, std::size_t loops = 1);
  /// Returns the address of a host, such as "10.0.0.1"; the host must exist (else: abort).
  [[nodiscard]] std::string address_of(std::string_view name) const;
  /// Sets what net::resolver returns for `name` from now on, on every host. Without this, the name of a host
  /// resolves to its address.
  void set_name(std::string_view name, const name_record& record);
  /// Sends a signal to the host. Returns false when no task there watches for it: a real process might have
  /// been terminated.
  bool signal(std::string_view name, process_signal s);

  // --- Faults by call. Call these between turns, or from a task.
  /// Sets the faults from now on. Partitions and crashes that were drawn before still end as planned.
  void set_faults(const faults& f);
  /// Separates the two hosts until heal(). What they send meanwhile is retransmitted then, unless the
  /// connection has timed out before (after blackhole_timeout; while connecting, after 6 s).
  void partition(std::string_view a, std::string_view b);
  /// Ends the partition of the two hosts.
  void heal(std::string_view a, std::string_view b);
  /// Ends all partitions.
  void heal();
  /// Simulates a power loss of the host. Immediately, nothing the host does reaches the network, the trace or
  /// the log any more, and data that it has not put on the wire is lost. Its peers receive nothing while it
  /// is down, and a reset when they send to it after a restart. Then its runtime is stopped, all its I/O
  /// fails with CANCELLED, and its tasks run to their ends in a separate virtual time, before the next turn
  /// of any other host. Unlike in a real power loss, destructors and catch blocks run, and what they write to
  /// memory outside of the host is visible there. Aborts when a task does not end.
  void crash(std::string_view host);
  /// Restarts a host that is down: same name and address, a new runtime (returned by host()), and its program
  /// started again. Does nothing when the host is up.
  void restart(std::string_view host);
  /// Returns whether the host is up.
  [[nodiscard]] bool is_up(std::string_view host) const;
  /// Moves the host's wall clock (loop::wall_now()). Timers and deadlines are not affected.
  void jump_wall_clock(std::string_view host, duration by);

  // --- Running the world. From outside only: a task that calls run(), run_until() or run_for() aborts.
  /// Runs until nothing is left to do: nothing is ready, no timer is armed and no byte is in transit. A task
  /// that waits for an event that never happens does not delay this; a task that arms timers for ever does:
  /// use run_for().
  void run();
  /// Runs until the condition holds; it is checked between rounds of turns. Returns false when nothing was
  /// left to do before.
  bool run_until(const std::function<bool()>& condition);
  /// The same with a limit: also returns false when `at_most` of virtual time has passed. The watchdog of a
  /// test.
  bool run_until(const std::function<bool()>& condition, duration at_most);
  /// Runs until `d` of virtual time has passed.
  void run_for(duration d);

  /// Returns the present virtual time.
  [[nodiscard]] time_point now() const noexcept;
  /// Returns a hash over all connects, accepts, bytes, ends, resets, closes, signals, timers and faults with
  /// their times. Equal seeds and programs produce equal hashes; a test that runs a seed twice compares them.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  /// Returns the number of events that the hash covers.
  [[nodiscard]] std::uint64_t trace_length() const noexcept;
  /// Returns the last world_options::keep_events events, one per line.
  [[nodiscard]] std::vector<std::string> last_events() const;
  /// Returns which tasks wait where, host by host, to find the cause of a hang.
  [[nodiscard]] std::string tasks() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::sim
