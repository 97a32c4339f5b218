#include "services/health_book.hpp"

#include "services/served_names.hpp"

namespace coracle::services {

health_book::watcher::watcher(health_book& of) : of_(of), place_(of.watchers_.end()) {
  const std::lock_guard lock(of_.mutex_);
  if (of_.watchers_.size() < health_service::watchers_max)
    place_ = of_.watchers_.insert(of_.watchers_.end(), this);
}

health_book::watcher::~watcher() {
  if (!admitted()) return;
  const std::lock_guard lock(of_.mutex_);
  of_.watchers_.erase(place_);
}

health_book::health_book() { configured_.emplace("", health_status::serving); }

void health_book::set(std::string_view service, health_status status) {
  const std::lock_guard lock(mutex_);
  if (closed_ || (leaving_ && service != health_service::liveness)) return;
  configured_.insert_or_assign(std::string(service), status);
  notify_watchers();
}

void health_book::served_by(const service_host& host) {
  const std::lock_guard lock(mutex_);
  host_ = &host;
  served_.reset();
}

void health_book::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  notify_watchers();
}

void health_book::close() {
  const std::lock_guard lock(mutex_);
  leaving_ = closed_ = true;
  notify_watchers();
}

void health_book::notify_watchers() noexcept {
  for (watcher* w : watchers_) w->changed.set();
}

const std::set<std::string, std::less<>>& health_book::served() {
  if (!served_) served_ = host_ ? served_names(*host_) : std::set<std::string, std::less<>>();
  return *served_;
}

// For a service that is known.
health_status health_book::status_of(std::string_view service) const {
  const bool is_liveness = service == health_service::liveness;
  if (closed_ || (leaving_ && !is_liveness)) return health_status::not_serving;
  const auto configured = configured_.find(service);
  if (configured != configured_.end()) return configured->second;
  return is_liveness ? health_status::serving : configured_.at("");
}

health_book::state health_book::of(std::string_view service) {
  const std::lock_guard lock(mutex_);
  const bool known =
      service == health_service::liveness || configured_.contains(service) || served().contains(service);
  return {known ? std::optional(status_of(service)) : std::nullopt, closed_};
}

std::map<std::string, health_status> health_book::all() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, health_status> found;
  for (const std::string& name : served()) found.emplace(name, status_of(name));
  for (const auto& [name, status] : configured_) found.emplace(name, status_of(name));
  return found;
}

}  // namespace coracle::services
