#include "server/handover/descriptor_store.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/sleep.hpp"
#include "runtime/kernel/service_manager.hpp"
#include "server/handover/stored_sockets.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace kernel = runtime_internal::kernel;

// While the manager has not read earlier messages, of which the kernel holds as few as ten. No event tells
// when a datagram socket of another process has room.
constexpr duration send_pause = std::chrono::milliseconds(10);

std::string store_message(std::string_view name) { return "FDSTORE=1\nFDNAME=" + std::string(name); }

std::string stored_name_of(const server_listener& l, const std::string& path) {
  const net::address& local = l.local_address();
  const bool any_port = local.is_ip() && local.with_port(0).to_string() == l.name().text;
  return stored_name(path, local, any_port);
}

}  // namespace

descriptor_store::descriptor_store(server_state& of, std::string path)
    : server_(of), path_(std::move(path)), wanted_(of.loop_of(0)) {}

void descriptor_store::log(log_level level, std::string_view text) noexcept {
  server_.owner.log().write(log_room::server, level, text);
}

result<opened_socket> descriptor_store::take(loop& on, const net::address& wanted, bool only_ipv6) {
  return stored_sockets::of_process().take(on, wanted, path_, only_ipv6);
}

bool descriptor_store::end_others_at_port(loop& on, const net::address& wanted) {
  const std::vector<std::string> ended = stored_sockets::of_process().end_at_port(on, wanted);
  for (const std::string& name : ended) forget(name);
  return !ended.empty();
}

server_listener* descriptor_store::listener(std::uint64_t id) noexcept {
  if (shard* const s = server_.shard_of(server_.loop_of(0)))
    for (const auto& l : s->listeners())
      if (l->id() == id) return l.get();
  return nullptr;
}

// The manager does what it is told in this order, so that a name is free for another socket.
void descriptor_store::forget(std::string_view name) noexcept {
  char text[stored_name_bytes_max + 40];
  std::snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%.*s", static_cast<int>(name.size()),
                name.data());
  static_cast<void>(kernel::notify_service_manager(text));
  stored_sockets::of_process().remove(name);
}

task<> descriptor_store::run() {
  for (;;) {
    co_await wanted_;
    wanted_.reset();
    try {
      co_await close_unused();
      if (may_keep()) list_requests();
      if (!have_room()) {
        end();
        continue;
      }
      bool kept = true;
      if (!requests_.empty()) kept = co_await pass();
      settle(kept);
    } catch (const std::bad_alloc&) {
      withdraw();
      log(log_level::error, "the process is out of memory: the service manager keeps no further sockets");
    } catch (...) {
      withdraw();
      throw;
    }
  }
}

// A client that connects to such an address would wait for an answer that never comes.
task<> descriptor_store::close_unused() {
  const std::vector<std::string> unused = stored_sockets::of_process().unused(path_);
  for (const std::string& name : unused) {
    // First, so that no later listen() takes it.
    if (!stored_sockets::of_process().remove_unused(name)) continue;
    std::string text = "FDSTOREREMOVE=1\nFDNAME=" + name;
    static_cast<void>(co_await send(std::move(text), -1, 0));
  }
}

// What the manager does not keep, the next process cannot have.
bool descriptor_store::may_keep() const noexcept {
  return kernel::descriptors_kept_max() != 0 && (is_successor_ || kernel::is_started_by_manager());
}

bool descriptor_store::have_room() {
  if (!may_keep()) return false;
  const std::size_t most = kernel::descriptors_kept_max();
  const std::optional<std::size_t> wanted = stored_sockets::of_process().lacks_room(requests_.size(), most);
  if (!wanted) {
    reserved_ = requests_.size();
    return true;
  }
  if (!std::exchange(refusal_logged_, true))
    log(log_level::warning,
        "the service manager keeps at most " + std::to_string(most) +
            " sockets while the service restarts, and none of this server's: it would with "
            "FileDescriptorStoreMax=" +
            std::to_string(*wanted) + " or more in the unit");
  return false;
}

void descriptor_store::list_requests() {
  shard* const s = server_.shard_of(server_.loop_of(0));
  if (!s) return;
  for (const auto& l : s->listeners()) {
    if (l->name().of_manager) continue;
    std::string name = stored_name_of(*l, path_);
    if (l->stored_as()) {
      if (*l->stored_as() == name) continue;
      forget(*l->stored_as());  // of a server with another path
      l->set_stored(nullptr);
    }
    if (name.size() <= stored_name_bytes_max) {
      requests_.push_back({l->id(), std::move(name)});
    } else {
      log(log_level::warning, "the service manager does not keep the socket of " +
                                  l->local_address().to_string() + ": its name there has " +
                                  std::to_string(name.size()) + " bytes, limit " +
                                  std::to_string(stored_name_bytes_max) + ": " + name);
    }
  }
}

task<bool> descriptor_store::send(std::string text, int descriptor, std::uint64_t of_listener) {
  for (;;) {
    if (of_listener && !listener(of_listener)) co_return false;  // its descriptor is another one's by now
    const std::int64_t sent = kernel::notify_service_manager(text, descriptor);
    if (sent != -EAGAIN) co_return sent >= 0;
    co_await sleep_for(send_pause);
  }
}

task<bool> descriptor_store::pass() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const server_listener* const l = listener(requests_[i].listener);
    if (!l) co_return false;
    const int descriptor = l->descriptor();
    std::string text = store_message(requests_[i].name);
    const bool sent = co_await send(std::move(text), descriptor, requests_[i].listener);
    if (!sent) co_return false;
  }
  co_return true;
}

void descriptor_store::settle(bool kept) {
  for (; kept && !requests_.empty(); requests_.pop_back()) {
    const request& r = requests_.back();
    server_listener* const l = listener(r.listener);
    if (!l) {
      forget(r.name);
      continue;
    }
    l->set_stored(stored_sockets::of_process().add(r.name, l->descriptor()));
    --reserved_;
  }
  withdraw();
  shard* const s = server_.shard_of(server_.loop_of(0));
  if (!s) return;
  const auto stored = std::count_if(s->listeners().begin(), s->listeners().end(),
                                    [](const auto& l) { return l->stored_as() != nullptr; });
  if (stored != 0)
    log(log_level::info, "the service manager keeps the listening sockets while the service restarts: " +
                             std::to_string(stored));
  else if (!kept)
    log(log_level::warning, "the service manager does not take the listening sockets of the server");
}

void descriptor_store::end() noexcept {
  if (is_left_) return;
  withdraw();
  shard* const s = server_.shard_of(server_.loop_of(0));
  if (!s) return;
  for (const auto& l : s->listeners()) {
    if (!l->stored_as()) continue;
    forget(*l->stored_as());
    l->set_stored(nullptr);
  }
}

void descriptor_store::withdraw() noexcept {
  for (const request& r : requests_) forget(r.name);
  requests_.clear();
  stored_sockets::of_process().give_up_room(std::exchange(reserved_, 0));
}

void descriptor_store::leave_to_successor(const std::vector<net::address>& given_up) noexcept {
  is_left_ = true;
  shard* const s = server_.shard_of(server_.loop_of(0));
  if (!s) return;
  for (const auto& l : s->listeners()) {
    const bool ends = std::find(given_up.begin(), given_up.end(), l->local_address()) != given_up.end();
    for (const request& r : requests_)
      if (ends && r.listener == l->id()) forget(r.name);
    if (!l->stored_as()) continue;
    // This process must not keep the address from the successor's, which may give it up.
    stored_sockets::of_process().remove(*l->stored_as());
    if (!ends) continue;
    forget(*l->stored_as());
    l->set_stored(nullptr);
  }
  requests_.clear();
  stored_sockets::of_process().give_up_room(std::exchange(reserved_, 0));
}

}  // namespace coracle::server_internal
