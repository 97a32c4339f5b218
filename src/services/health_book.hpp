// health_book: what is known of the health of a server and its services, and who waits for news of it.
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

// Shared by the loops of a server and whoever sets a status: every function from any thread. Nothing here is on the
// path of ordinary calls, so a mutex is good enough.
class health_book {
 public:
  // A call of Watch(): made, used and destroyed on its loop. Must not outlive the book.
  class watcher {
   public:
    explicit watcher(health_book& of);
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;
    ~watcher();
    // False: there are too many already; it hears nothing.
    [[nodiscard]] bool admitted() const noexcept { return place_ != of_.watchers_.end(); }
    // Something may have changed since it was reset.
    event<> changed;

   private:
    health_book& of_;
    std::list<watcher*>::iterator place_;
  };

  health_book();
  void set(std::string_view service, health_status status);
  void served_by(const service_host& host);
  // Everything is not_serving from now on.
  void close();

  struct state {
    std::optional<health_status> status;  // none: the service is not known
    bool closed = false;
  };
  [[nodiscard]] state of(std::string_view service);
  [[nodiscard]] std::map<std::string, health_status> all();

 private:
  void tell_watchers() noexcept;
  const std::set<std::string, std::less<>>& served();
  health_status overall() const;

  std::mutex mutex_;
  std::map<std::string, health_status, std::less<>> said_;
  const service_host* host_ = nullptr;
  std::optional<std::set<std::string, std::less<>>> served_;  // host_'s, when somebody has asked
  std::list<watcher*> watchers_;
  bool closed_ = false;
};

}  // namespace coracle::services
