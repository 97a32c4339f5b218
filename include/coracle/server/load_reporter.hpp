// load_reporter: the load of a server, as it tells it to clients and load balancers (gRFC A51, ORCA).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/load_report.hpp"

#include <functional>
#include <memory>

namespace coracle {

namespace server_internal {
class load_sources;  // private: src/server/load_sources.hpp
}

/// Collects the load of a server. Share it with server_options::load, which sends it with calls, and with
/// orca_service, which sends it in a stream. Any thread may call its functions.
///
///   auto load = std::make_shared<coracle::load_reporter>();
///   load->measure_cpu();
///   load->update([](coracle::load_report& r) { r.set_metric("queue", 12); });
///   options.load = load;
class load_reporter {
 public:
  /// Without values, which reports nothing.
  load_reporter();
  load_reporter(const load_reporter&) = delete;
  load_reporter& operator=(const load_reporter&) = delete;
  ~load_reporter();

  /// Has `change` set values of the server, which stay until they are set again, or removed by clear(). What
  /// is set here beats what is measured. Calls `change` at once, under a lock.
  void update(const std::function<void(load_report&)>& change);

  /// Measures cpu_utilization(): the CPU time of the process by the CPUs that it may use, which a quota of
  /// its cgroup or its affinity limits. Reads files: call it at start-up.
  void measure_cpu();
  /// Measures memory_utilization(): the resident memory of the process by the memory that it may use
  /// (server_options::memory says what limits that), or by that of the machine. Reads files: call it at
  /// start-up.
  void measure_memory();
  /// Measures qps() and eps(): the calls that ended in a second, and those of them that did not end with OK,
  /// of the servers whose server_options::load this is.
  void measure_calls();

  /// Returns the load as it is reported. Measured values are those of the last interval of at least one
  /// second that has ended; there are none in the first one. `now` is the time of a loop,
  /// coracle::loop::now(). In a simulation the CPU time and the memory are those of the real process.
  [[nodiscard]] load_report at(time_point now) const;

  /// @cond  For the library.
  [[nodiscard]] server_internal::load_sources& sources() const noexcept { return *sources_; }
  /// @endcond

 private:
  std::unique_ptr<server_internal::load_sources> sources_;
};

}  // namespace coracle
