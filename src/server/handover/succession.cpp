#include "server/handover/succession.hpp"

#include "base/if_memory_allows.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/raw_address.hpp"
#include "server/handover/path.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace protocol_of = handover_protocol;
namespace kernel = runtime_internal::kernel;
using message_kind = protocol_of::message::kind;

// The predecessor answers when its loop runs next, unless it hangs, or deals with a peer that says nothing.
constexpr duration answer_time = std::chrono::seconds(20);
// For another process that takes the path at the same time, which takes much less.
constexpr duration lock_time = std::chrono::seconds(2);
constexpr auto retry_pause = std::chrono::milliseconds(5);

std::int64_t say(int to, message_kind what, std::vector<std::size_t> indices = {}) {
  protocol_of::message m;
  m.type = what;
  m.number = protocol_of::version;
  m.indices = std::move(indices);
  return kernel::send_packet(to, protocol_of::write(m));
}

}  // namespace

status succession::failure(std::int64_t error, std::string_view action) const {
  return path_failure(error, path_, action);
}

status succession::begin() {
  if (status invalid = check_path(path_); !invalid.ok()) return invalid;
  if (status failed = lock(); !failed.ok()) return failed;
  // A process that is ending may have the path still, and answers nothing.
  const time_point end = clock_.now() + answer_time;
  for (;;) {
    const std::int64_t opened = kernel::connect_for_packets(path_);
    if (opened == -ENOENT || opened == -ECONNREFUSED) return take_path();
    if (opened < 0) return failure(opened, "connecting to the process that serves");
    connection_ = kernel::owned_descriptor(static_cast<int>(opened));
    bool said_nothing = false;
    status received = receive_sockets(end, said_nothing);
    if (!said_nothing || clock_.now() >= end) return received;
    connection_ = kernel::owned_descriptor();
    std::this_thread::sleep_for(retry_pause);  // sleeps on purpose: no event tells when the path is free
  }
}

status succession::lock() {
  const time_point end = clock_.now() + lock_time;
  const std::string name = path_ + ".lock";
  for (;;) {
    const std::int64_t taken = kernel::take_lock(name);
    if (taken >= 0) {
      lock_ = kernel::owned_descriptor(static_cast<int>(taken));
      return {};
    }
    if (taken != -EAGAIN) return failure(taken, "creating PATH.lock");
    if (clock_.now() >= end)
      return status::failed_precondition(
          "another process takes over at the handover path " + path_ + ": process " +
          std::to_string(kernel::lock_holder(name)) +
          " (0: unknown): wait until it serves alone before you start a further one, or end it if it hangs");
    std::this_thread::sleep_for(retry_pause);  // sleeps on purpose: no event tells when the file is free
  }
}

status succession::take_path() {
  if (status failed = remove_stale_socket(path_); !failed.ok()) return failed;
  const std::int64_t opened = kernel::listen_for_packets(path_);
  if (opened < 0) return failure(opened, "creating the socket");
  control_ = kernel::owned_descriptor(static_cast<int>(opened));
  return {};
}

status succession::receive_sockets(time_point end, bool& said_nothing) {
  const auto peer = kernel::peer_of(connection_.get());
  if (!peer || !kernel::is_trusted(*peer))
    return status::permission_denied("the process at the handover path " + path_ +
                                     " belongs to another user: use a folder that only this user may write");
  const auto broken = [this](std::string_view what) {
    return status::unavailable("the process at the handover path " + path_ + " " + std::string(what) +
                               ": if it does not serve any more, end it, and start again");
  };
  if (say(connection_.get(), message_kind::take) < 0) {
    said_nothing = true;
    return broken("has ended");
  }
  for (;;) {
    const duration left = end - clock_.now();
    const std::int64_t waited = kernel::wait_for_packet(connection_.get(), left);
    if (waited == -ETIMEDOUT) return broken("does not answer");
    kernel::packet got;
    std::int64_t received = waited < 0 ? waited : kernel::receive_packet(connection_.get(), got);
    // It has closed the connection without reading everything; what it has sent is still here.
    if (received == -ECONNRESET) received = kernel::receive_packet(connection_.get(), got);
    if (received == -EAGAIN) continue;
    const bool is_gone = received == 0 || received == -ECONNRESET || received == -EPIPE;
    said_nothing = is_gone && sockets_.empty() && !control_.is_open();
    if (received <= 0) return broken("has ended, or sends malformed messages");
    std::optional<protocol_of::message> m = protocol_of::parse(got.text);
    if (m && m->type == message_kind::refused)
      return status::failed_precondition("the process at the handover path " + path_ +
                                         " passes nothing on: " + m->reason);
    if (m && m->type == message_kind::end && m->number == sockets_.size() && control_.is_open()) return {};
    const bool passes = m && got.descriptor.is_open();
    if (passes && m->type == message_kind::socket && sockets_.size() < protocol_of::sockets_max) {
      sockets_.push_back({std::move(got.descriptor), std::move(m->name), {}});
    } else if (passes && m->type == message_kind::control) {
      control_ = std::move(got.descriptor);
    } else {
      return broken("sends malformed messages");
    }
  }
}

net::address local_address_of(loop& on, int descriptor) {
  runtime_internal::raw_address raw;
  return on.io().local_address(descriptor, raw) < 0 ? net::address() : net::from_raw(raw);
}

result<opened_socket> succession::adopt(loop& on, passed_socket& s) {
  result<std::unique_ptr<net::acceptor>> adopted = net::acceptor::adopt(on, s.descriptor.get());
  if (!adopted) return adopted.status();
  opened_socket one;
  one.acceptor = *std::move(adopted);
  one.name = s.name;
  one.claim = std::make_shared<const char>();
  s.claim = one.claim;
  return one;
}

result<opened_socket> succession::take(loop& on, const net::address& wanted, bool only_ipv6) {
  const std::string text = wanted.to_string();
  for (passed_socket& s : sockets_) {
    if (closed_ || s.taken() || s.name.of_manager) continue;
    if (s.local == net::address()) s.local = local_address_of(on, s.descriptor.get());
    const bool any_port = wanted.is_ip() && wanted.port() == 0;
    if (any_port ? s.name.text != text : s.local != wanted) continue;
    if (!kernel::serves_ipv4_as(s.descriptor.get(), only_ipv6)) continue;
    return adopt(on, s);
  }
  return opened_socket();
}

result<std::vector<opened_socket>> succession::take_of_manager(loop& on, std::string_view name) {
  std::vector<opened_socket> all;
  for (passed_socket& s : sockets_) {
    if (closed_ || !s.name.of_manager || (!name.empty() && s.name.text != name)) continue;
    result<opened_socket> adopted = adopt(on, s);
    if (!adopted) return adopted.status();
    all.push_back(*std::move(adopted));
  }
  return all;
}

void succession::close() {
  if (std::exchange(closed_, true)) return;
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    if (sockets_[i].taken()) taken_.push_back(i);
  sockets_.clear();
}

task<result<std::optional<protocol_of::message>>> succession::next_message() {
  for (;;) {
    net::io_wait readable(*loop::current(), runtime_internal::operation::kind::poll_in, connection_.get());
    const std::int64_t waited = co_await readable;
    const bool stopped = waited == -ECANCELED;
    kernel::packet got;
    std::int64_t received = waited < 0 && !stopped ? waited : kernel::receive_packet(connection_.get(), got);
    // The predecessor has closed the connection without reading everything; what it has sent is still here.
    if (received == -ECONNRESET) received = kernel::receive_packet(connection_.get(), got);
    // What has arrived before a stop counts: after "done", the sockets belong to this process alone.
    if (received == -EAGAIN && stopped) co_return readable.ended_early();
    if (received == -EAGAIN) continue;
    if (received == 0 || received == -ECONNRESET || received == -EPIPE)
      co_return std::optional<protocol_of::message>();
    if (received < 0) co_return failure(received, "waiting for the process that serves");
    std::optional<protocol_of::message> m = protocol_of::parse(got.text);
    if (!m) co_return status::internal("the predecessor sends malformed messages, and goes on");
    co_return m;
  }
}

task<status> succession::take_possession(const std::function<void()>& paused) {
  if (!has_predecessor()) co_return status();
  const status outcome = co_await until_possession(paused);
  if (is_refused_) loop::current()->io().forget(connection_.get());
  else abandon();
  co_return outcome;
}

void succession::give_up() noexcept {
  control_ = kernel::owned_descriptor();
  lock_ = kernel::owned_descriptor();
}

void succession::abandon() noexcept {
  if (!connection_.is_open()) return;
  if (loop* const here = loop::current()) here->io().forget(connection_.get());
  connection_ = kernel::owned_descriptor();
}

// A predecessor that ends without a word was killed, or was told to end: this process has its sockets, and
// goes on. The path may have been removed with it.
task<status> succession::until_possession(const std::function<void()>& paused) {
  // A predecessor that has closed the connection may have said why.
  const std::int64_t said = say(connection_.get(), message_kind::ready, std::move(taken_));
  if (said < 0 && said != -EPIPE && said != -ECONNRESET)
    co_return failure(said, "talking to the process that serves");
  for (;;) {
    const result<std::optional<protocol_of::message>> got = co_await next_message();
    if (!got.ok()) co_return got.status();
    const std::optional<protocol_of::message>& m = *got;
    if (!m) break;
    if (m->type == message_kind::refused) {
      is_refused_ = true;
      co_return status::failed_precondition("the predecessor goes on: " + m->reason);
    }
    if (m->type == message_kind::done) co_return status();
    if (m->type != message_kind::go)
      co_return status::internal("the predecessor sends malformed messages, and goes on");
    paused();
  }
  control_ = kernel::owned_descriptor();
  base::if_memory_allows([this] { path_failed_ = take_path(); });
  co_return status();
}

kernel::owned_descriptor succession::take_control() noexcept {
  lock_ = kernel::owned_descriptor();
  return std::move(control_);
}

}  // namespace coracle::server_internal
