// shared_clients: the clients of control planes that the channels of a target, or the listeners of servers,
// have in common in a runtime (gRFC A71).
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/xds/xds.hpp"
#include "runtime/loop_service.hpp"
#include "runtime/runtime_core.hpp"
#include "xds/bootstrap/bootstrap.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

// Runs as long as it has users, which may be on several loops.
class shared_client {
 public:
  shared_client() noexcept = default;
  shared_client(const shared_client&) = delete;
  shared_client& operator=(const shared_client&) = delete;
  virtual ~shared_client() = default;
  // On the loop of its first user. Runs until it is stopped, and ends with coro::cancelled then. Once.
  [[nodiscard]] virtual task<> run() = 0;
  // run() has ended. A null pointer: it was stopped. Else its users are to begin again, with another client.
  virtual void ended(std::exception_ptr why) noexcept = 0;
};

// Those who have the same key use the same client.
struct client_key {
  std::shared_ptr<const bootstrap> from;
  // That of options which have more than the bootstrap, and cannot be compared. Null: they have no more.
  std::shared_ptr<const xds_options> options;
  std::string target;  // of the channels, or "#server"

  friend bool operator==(const client_key& a, const client_key& b) {
    return a.target == b.target && a.options == b.options && *a.from == *b.from;
  }
};
// `options` is kept if that is necessary.
[[nodiscard]] client_key key_of(std::shared_ptr<const bootstrap> from,
                                std::shared_ptr<const xds_options> options, std::string target);

// Those of a runtime. Any thread.
class shared_clients final : public runtime_internal::companion,
                             public std::enable_shared_from_this<shared_clients> {
 public:
  // The client with this key, as long as the result is kept; `make` makes it if there is none. On a loop of
  // the runtime.
  template <class T>
  [[nodiscard]] static std::shared_ptr<T> join(client_key key,
                                               const std::function<std::shared_ptr<T>()>& make) {
    const auto all = loop::current()->owner().core().companion_of<shared_clients>();
    auto joined = std::make_shared<membership>(all, std::move(key), make);
    T* const client = static_cast<T*>(joined->client.get());
    return std::shared_ptr<T>(std::move(joined), client);
  }
  // runtime_internal::companion
  void runtime_ended() noexcept override {}

 private:
  class service;
  struct entry {
    client_key key;
    std::shared_ptr<shared_client> client;
    std::shared_ptr<runtime_internal::loop_service_handle> handle;
    std::size_t users = 0;
    bool ended = false;  // it has no further users
  };
  struct membership {
    membership(std::shared_ptr<shared_clients> all, client_key key,
               const std::function<std::shared_ptr<shared_client>()>& make)
        : of(std::move(all)), client(of->add_user(std::move(key), make)) {}
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    ~membership() { of->remove_user(std::move(client)); }

    const std::shared_ptr<shared_clients> of;
    std::shared_ptr<shared_client> client;
  };

  [[nodiscard]] std::shared_ptr<shared_client> add_user(
      client_key key, const std::function<std::shared_ptr<shared_client>()>& make);
  void remove_user(std::shared_ptr<shared_client> of) noexcept;
  void has_ended(const shared_client& which) noexcept;

  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace coracle::xds
