// hosts: the hosts of a simulated world: runtimes, the programs on them, crashes and restarts.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/runtime/sim.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/sim/network.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <chrono>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::sim {

// Forwards what a host logs, with the time of the host's clock, until the host crashes.
class host_log final : public record_logger {
 public:
  explicit host_log(logger& to) noexcept : to_(to) {
    for (const log_room room : log_rooms) set_min_level(room, to.min_level(room));
  }
  // Before the first line. They outlive the loops, which may write a last line when they end.
  void set_clock(const network& net, const host_state& host) noexcept {
    net_ = &net;
    host_ = &host;
  }
  void cut_off() noexcept { cut_off_ = true; }

 private:
  void accept(const log_record& line) noexcept override {
    if (cut_off_) return;
    log_record simulated = line;
    simulated.time =
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
            duration(sim_backend::wall_ns_at(net_->now(), *host_))));
    to_.write(simulated);
  }
  logger& to_;
  const network* net_ = nullptr;
  const host_state* host_ = nullptr;
  bool cut_off_ = false;
};

// The state of a host from a start to a crash. Its runtime stays after that, empty, because references to it
// may remain.
struct host_life {
  explicit host_life(logger& to) noexcept : log(to) {}
  host_log log;
  std::vector<sim_backend*> backends;  // of the runtime
  time_point own_time{};               // after the crash
  std::unique_ptr<runtime> rt;
  std::shared_ptr<void> owned;  // by its program
};

struct simulated_host {
  host_state* net;
  std::size_t loops;
  world::program starts;  // empty when the host has no program
  std::unique_ptr<host_life> life;  // null while the host is down
  std::vector<std::unique_ptr<host_life>> past;
  bool crashed = false;      // cut off, but its tasks have not been ended yet
  bool start_requested = false;  // requested by a task; performed between turns
};

// A loop of a running host.
struct host_loop {
  runtime_internal::driven_loop* loop;
  sim_backend* backend;
  host_life* life;
  std::uint64_t id;
};

class hosts {
 public:
  // `memory`, if not null, is the memory resource of all hosts' runtimes.
  hosts(network& net, logger& log, std::pmr::memory_resource* memory, runtime_internal::driver& by) noexcept
      : net_(net), log_(log), memory_(memory), driver_(by) {}
  hosts(const hosts&) = delete;
  hosts& operator=(const hosts&) = delete;

  [[nodiscard]] simulated_host* find(std::string_view name) noexcept;
  [[nodiscard]] const std::vector<std::unique_ptr<simulated_host>>& all() const noexcept { return all_; }
  simulated_host& add(std::string_view name, std::size_t loops, world::program starts);
  // Cuts the host off at once. Ends its remaining tasks now, or between turns when a task requested the
  // crash.
  void crash(simulated_host& h);
  void restart(simulated_host& h);
  // Performs the crashes and starts that tasks have requested; call it between turns.
  void catch_up();
  // Stops all hosts, and drives the world until they have ended. The last call.
  void end_all();

  [[nodiscard]] std::vector<host_loop>& loops() noexcept { return loops_; }
  // Lists the waiting tasks of all hosts: one per line, indented below their loop's line.
  [[nodiscard]] std::string tasks() const;
  // While the tasks of a crashed host are being ended, a waiting thread drives only the loops of that host,
  // on a clock of their own.
  [[nodiscard]] bool retiring() const noexcept { return retired_; }
  void drive_retired(bool (*done)(const void*) noexcept, const void* context) noexcept;

 private:
  void start_life(simulated_host& h);
  void retire(simulated_host& h);
  [[nodiscard]] bool run_retired_once() noexcept;

  network& net_;
  logger& log_;
  std::pmr::memory_resource* memory_;
  runtime_internal::driver& driver_;
  std::vector<std::unique_ptr<simulated_host>> all_;
  std::vector<host_loop> loops_;
  std::uint64_t next_loop_ = 1;
  host_life* retired_ = nullptr;
};

}  // namespace coracle::sim
