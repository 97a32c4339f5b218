// registrations: servers that are written into a registry until they leave.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace coracle::naming {

// Waits for `d`, or until the event is set. Returns whether it is. The event must outlive the await.
[[nodiscard]] task<bool> set_within(event<>& e, duration d);

// Throws usage_error unless clients can connect to the address.
void require_reachable(const net::address& at);

// One server under one name. Lives on one loop.
class registry_entry {
 public:
  registry_entry(const registry_entry&) = delete;
  registry_entry& operator=(const registry_entry&) = delete;
  virtual ~registry_entry() = default;
  // Where clients reach the server.
  [[nodiscard]] virtual const net::address& server() const noexcept = 0;
  // For the log: "movies/10.0.0.1:50051 in etcd".
  [[nodiscard]] virtual const std::string& text() const noexcept = 0;
  [[nodiscard]] virtual task<status> enter() = 0;
  // Keeps what was entered. OK: `ending` is set. Otherwise it is lost, or may be, for that reason.
  [[nodiscard]] virtual task<status> hold(event<>& ending) = 0;
  // Removes what may have been entered. OK also if there was nothing.
  [[nodiscard]] virtual task<status> leave() = 0;

 protected:
  registry_entry() noexcept = default;
};

// All of one object of the program.
class registrations {
 public:
  // How long an entry holds without its server.
  static constexpr duration lease_time = std::chrono::seconds(15);

  // Enters on a loop of `on`, and again whenever the entry is lost, until end().
  static void begin(const std::shared_ptr<registrations>& of, runtime& on,
                    std::function<std::unique_ptr<registry_entry>()> make);
  // From any thread.
  void end() noexcept;
  // As end(), but leaves the entries to another process, which has made them anew, except those of servers at
  // `given_up`, where it does not listen. From any thread.
  void pass_on(std::span<const net::address> given_up) noexcept;
  // Enters everything again, because another process may have replaced or removed it. From any thread.
  void renew() noexcept;

 private:
  class membership;
  static task<> run(std::shared_ptr<registrations> of, std::function<std::unique_ptr<registry_entry>()> make);
  static task<> keep(registrations& of, registry_entry& entry, event<>& ending);
  [[nodiscard]] bool is_passed_on(const net::address& server);
  // Whether `ending` is set because of renew(); resets it then. On its loop.
  [[nodiscard]] bool begins_anew(event<>& ending);

  std::mutex mutex_;
  std::vector<event<>*> endings_;  // one for each server, of its loop; set by end() and renew() only
  bool ended_ = false;
  bool passed_on_ = false;
  std::vector<net::address> given_up_;
};

}  // namespace coracle::naming
