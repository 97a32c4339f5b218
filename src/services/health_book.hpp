// health_book: the health of a server and its services, and the Watch() calls that wait for changes.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/services/health_service.hpp"

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace coracle::services {

// Shared by the loops of a server and the threads that set a status: every function may be called from any
// thread. Ordinary calls do not use it, so a mutex is sufficient.
class health_book {
 public:
  // A call of Watch(): made, used and destroyed on its loop. Must not outlive the book.
  class watcher {
   public:
    explicit watcher(health_book& of);
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;
    ~watcher();
    // False if there are too many watchers already; this one is then not notified.
    [[nodiscard]] bool admitted() const noexcept { return place_ != of_.watchers_.end(); }
    // Set when something may have changed since it was reset.
    event<> changed;

   private:
    health_book& of_;
    std::list<watcher*>::iterator place_;
  };

  health_book();
  void set(std::string_view service, health_status status);
  void served_by(const service_host& host);
  // Makes every service but health_service::liveness not_serving from now on.
  void leave();
  // That one, too.
  void close();

  struct state {
    std::optional<health_status> status;  // empty: the service is not known
    bool closed = false;
  };
  [[nodiscard]] state of(std::string_view service);
  [[nodiscard]] std::map<std::string, health_status> all();

 private:
  void notify_watchers() noexcept;
  const std::set<std::string, std::less<>>& served();
  health_status status_of(std::string_view service) const;

  std::mutex mutex_;
  std::map<std::string, health_status, std::less<>> configured_;
  const service_host* host_ = nullptr;
  std::optional<std::set<std::string, std::less<>>> served_;  // of host_, computed on first use
  std::list<watcher*> watchers_;
  bool leaving_ = false;
  bool closed_ = false;
};

}  // namespace coracle::services
