#include "net/dns/dns_channel.hpp"

#include "coracle/base/impl/assert.hpp"
#include "net/dns/socket_watch.hpp"

#include <ares.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/time.h>
#include <algorithm>
#include <string>
#include <utility>

namespace coracle::net {

dns_channel::dns_channel(loop& on) noexcept : on_(on) {
  fire = [](coro::timer& t) noexcept {
    static_cast<dns_channel&>(t).process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  };
}

result<std::unique_ptr<dns_channel>> dns_channel::open(loop& on, const dns_settings& settings) {
  std::unique_ptr<dns_channel> made(new dns_channel(on));
  made->hosts_from_environment_ = settings.hosts_from_environment;
  const result<ares_channel> opened = open_ares_channel(settings, &dns_channel::socket_changed, made.get());
  if (!opened) return opened.status();
  made->ares_ = *opened;
  return made;
}

dns_channel::~dns_channel() {
  CORACLE_ASSERT(!ares_ && watched_ == 0, "a dns_channel is closed before it is destroyed");
}

void dns_channel::ask(dns_question& q) {
  if (asked_ >= at_once_max) return line_.push_back(q.line_);
  hand_over(q);
  settle();
}

void dns_channel::hand_over(dns_question& q) {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = hosts_from_environment_ ? ARES_AI_ENVHOSTS : 0;
  ++asked_;
  auto record = std::make_unique<dns_question::record>(dns_question::record{*this, &q});
  q.asked_ = record.get();
  ares_getaddrinfo(ares_, q.host_.c_str(), nullptr, &hints, &dns_channel::answered, record.release());
}

void dns_channel::answered(void* record, int ares_status, int, ares_addrinfo* found) noexcept {
  const std::unique_ptr<dns_question::record> asked(static_cast<dns_question::record*>(record));
  --asked->channel.asked_;
  if (asked->who) asked->who->answered(ares_status, found);
  if (found) ares_freeaddrinfo(found);
}

void dns_channel::process(int readable, int writable) noexcept {
  if (!ares_) return;
  ares_process_fd(ares_, readable, writable);
  settle();
}

// Runs after each call of c-ares: starts queued queries and arms the timer for the next call that c-ares
// needs.
void dns_channel::settle() {
  while (asked_ < at_once_max) {
    dns_question::place_in_line* first = line_.pop_front();
    if (!first) break;
    hand_over(first->owner);
  }
  timeval left{};
  if (!ares_timeout(ares_, nullptr, &left)) {
    if (holder) on_.disarm(*this);
    return;
  }
  const duration wait = std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec + 1);
  on_.arm(*this, deadline_after(on_.io().now(), wait));  // c-ares has just read the clock itself
}

void dns_channel::socket_changed(void* channel, int socket, int readable, int writable) noexcept {
  auto& self = *static_cast<dns_channel*>(channel);
  const auto known = std::find_if(self.watches_.begin(), self.watches_.end(),
                                  [socket](const socket_watch* w) { return w->theirs() == socket; });
  const bool gone = !readable && !writable;
  if (known != self.watches_.end()) {
    socket_watch& watch = **known;
    if (!gone) return watch.want(readable, writable);
    self.watches_.erase(known);
    return watch.retire();
  }
  if (gone) return;
  const int ours = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (ours < 0)  // c-ares' timeout ends the query
    return self.on_.log().write(
        log_level::warning,
        "no file descriptor left for a name server's socket: raise the limit (ulimit -n)");
  auto* made = new socket_watch(self, socket, ours);
  ++self.watched_;
  self.watches_.push_back(made);
  made->want(readable, writable);
}

dns_channel::closing dns_channel::close() noexcept {
  CORACLE_ASSERT(line_.empty(), "a dns_channel was closed while a lookup waits");
  if (holder) on_.disarm(*this);
  if (ares_) ares_destroy(std::exchange(ares_, nullptr));
  return closing(*this);
}

void dns_channel::watch_ended() noexcept {
  if (--watched_ == 0 && closer_) std::exchange(closer_, {}).resume();
}

namespace {

status failed(int error) {
  const std::string text = std::string("name lookup failed: ") + ares_strerror(error);
  return error == ARES_ENOMEM ? status::resource_exhausted(text) : status::unavailable(text);
}

// c-ares requires one initialization per process, and counts its users. Never undone, because other libraries
// of the program may use c-ares, too, and the count is not thread-safe.
int library_ready() noexcept {
  static const int outcome = ares_library_init(ARES_LIB_INIT_ALL);
  return outcome;
}

}  // namespace

result<ares_channel> open_ares_channel(const dns_settings& settings, ares_sock_state_cb socket_changed,
                                       void* context) {
  if (const int error = library_ready(); error != ARES_SUCCESS) return failed(error);
  ares_options options{};
  int mask = ARES_OPT_SOCK_STATE_CB;
  options.sock_state_cb = socket_changed;
  options.sock_state_cb_data = context;
  std::string resolv_conf = settings.resolv_conf;
  if (!resolv_conf.empty()) {
    options.resolvconf_path = resolv_conf.data();
    mask |= ARES_OPT_RESOLVCONF;
  }
  if (settings.timeout_ms > 0) {
    options.timeout = settings.timeout_ms;
    mask |= ARES_OPT_TIMEOUTMS;
  }
  if (settings.tries > 0) {
    options.tries = settings.tries;
    mask |= ARES_OPT_TRIES;
  }
  ares_channel channel = nullptr;
  if (const int error = ares_init_options(&channel, &options, mask); error != ARES_SUCCESS)
    return failed(error);
  if (settings.servers.empty()) return channel;
  const int error = ares_set_servers_ports_csv(channel, settings.servers.c_str());
  if (error == ARES_SUCCESS) return channel;
  ares_destroy(channel);
  return failed(error);
}

}  // namespace coracle::net
