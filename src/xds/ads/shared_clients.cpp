#include "xds/ads/shared_clients.hpp"

#include "coracle/base/log.hpp"
#include "coracle/coro/scope.hpp"

#include <algorithm>

namespace coracle::xds {

client_key key_of(std::shared_ptr<const bootstrap> from, std::shared_ptr<const xds_options> options,
                  std::string target) {
  const bool is_plain = !options->control_plane_tls && options->policies.empty() && options->filters.empty();
  return {std::move(from), is_plain ? nullptr : std::move(options), std::move(target)};
}

// Runs a client. It stays when run() has ended by itself, until the last user leaves.
class shared_clients::service final : public runtime_internal::loop_service {
 public:
  service(std::shared_ptr<shared_clients> of, std::shared_ptr<shared_client> client, std::string target)
      : of_(std::move(of)), client_(std::move(client)), target_(std::move(target)), unstarted_(run()) {}

  void start() noexcept {
    running_ = true;
    work_.spawn(std::move(unstarted_));
  }

 private:
  task<> run() {
    std::exception_ptr why;
    try {
      co_await client_->run();
    } catch (const coro::cancelled&) {
    } catch (const std::exception& e) {
      why = std::current_exception();
      loop::current()
          ->log()
          .in(log_room::client)
          .warning("xDS: the client of control planes for ", target_, " begins again: ", e.what());
    } catch (...) {
      why = std::current_exception();
    }
    of_->has_ended(*client_);
    client_->ended(why);
    running_ = false;
    if (shutting_down_) shutdown_finished();
  }
  // runtime_internal::loop_service
  void begin_shutdown() noexcept override {
    shutting_down_ = true;
    work_.request_stop();
    if (!running_) shutdown_finished();
  }

  const std::shared_ptr<shared_clients> of_;
  const std::shared_ptr<shared_client> client_;
  const std::string target_;
  scope work_;
  task<> unstarted_;  // until start()
  bool running_ = false;
  bool shutting_down_ = false;
};

std::shared_ptr<shared_client> shared_clients::add_user(
    client_key key, const std::function<std::shared_ptr<shared_client>()>& make) {
  std::shared_ptr<shared_client> client;
  service* made = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::ranges::find_if(entries_, [&](const entry& e) { return !e.ended && e.key == key; });
    if (known != entries_.end()) {
      ++known->users;
      return known->client;
    }
    client = make();
    auto runs = std::make_unique<service>(shared_from_this(), client, key.target);
    made = runs.get();
    entries_.reserve(entries_.size() + 1);
    auto handle = runtime_internal::loop_service::start(*loop::current(), std::move(runs));
    entries_.push_back({std::move(key), client, std::move(handle), 1});
  }
  made->start();
  return client;
}

void shared_clients::remove_user(std::shared_ptr<shared_client> of) noexcept {
  std::shared_ptr<runtime_internal::loop_service_handle> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, of, &entry::client);
    if (--found->users > 0) return;
    unused = std::move(found->handle);
    entries_.erase(found);
  }
  of.reset();
  unused->request_shutdown();
}

void shared_clients::has_ended(const shared_client& which) noexcept {
  const std::lock_guard lock(mutex_);
  for (entry& e : entries_)
    if (e.client.get() == &which) e.ended = true;
}

}  // namespace coracle::xds
