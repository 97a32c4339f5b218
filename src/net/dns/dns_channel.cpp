#include "net/dns/dns_channel.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "net/host_name.hpp"
#include "runtime/backend.hpp"

#include <ares.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/time.h>
#include <unistd.h>
#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace coracle::net {

// Polls a socket of c-ares on the loop. c-ares opens and closes its sockets at any time, even while the
// kernel polls one, and the system may reuse the descriptor's number at once. A watch therefore polls a
// duplicate of the descriptor, which it closes after its polls have ended. Lives on the heap, owns itself
// from retire() on, and notifies its channel when it ends.
class socket_watch {
 public:
  // Takes ownership of `ours`, the duplicate.
  socket_watch(dns_channel& of, int theirs, runtime_internal::handle ours) noexcept;
  socket_watch(const socket_watch&) = delete;
  socket_watch& operator=(const socket_watch&) = delete;

  [[nodiscard]] int theirs() const noexcept { return theirs_; }
  void set_interest(bool readable, bool writable) noexcept;
  // c-ares has closed its descriptor: cancels the polls in flight, then destroys this.
  void retire() noexcept;

 private:
  struct side : runtime_internal::operation {
    side(socket_watch& w, runtime_internal::operation::kind k, runtime_internal::handle h) noexcept;
    socket_watch& owner;
    bool interested = false;
    bool in_flight = false;
  };
  ~socket_watch();
  void poll(side& s) noexcept;
  void ready(side& s, std::int64_t outcome) noexcept;
  void end_if_idle() noexcept;

  dns_channel& channel_;
  const int theirs_;
  const runtime_internal::handle ours_;
  side reading_;
  side writing_;
  bool busy_ = false;  // inside ready(), where c-ares may retire this
  bool retired_ = false;
};

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

void dns_channel::ask(dns_question& q) noexcept {
  if (running_ >= concurrent_max) return queue_.push_back(q.queue_);
  hand_over(q);
  start_queued();
}

namespace {

// Applies the search list of the machine, as a query for addresses does.
void search_records(ares_channel to, const std::string& name, dns_kind kind, ares_callback answered,
                    void* record) noexcept {
  constexpr int class_in = 1;
  constexpr int type_txt = 16;  // RFC 1035 3.2.2
  constexpr int type_srv = 33;  // RFC 2782
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // as in dns_question.cpp
  ares_search(to, name.c_str(), class_in, kind == dns_kind::texts ? type_txt : type_srv, answered, record);
#pragma GCC diagnostic pop
}

}  // namespace

void dns_channel::hand_over(dns_question& q) noexcept {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = hosts_from_environment_ ? ARES_AI_ENVHOSTS : 0;
  q.record_ = new (std::nothrow) dns_question::record{*this, &q};
  if (!q.record_) return q.fail(no_memory_for_name(q.host_));
  ++running_;
  if (q.kind_ != dns_kind::addresses)
    return search_records(ares_, q.host_, q.kind_, &dns_channel::answered_with, q.record_);
  ares_getaddrinfo(ares_, q.host_.c_str(), nullptr, &hints, &dns_channel::answered, q.record_);
}

void dns_channel::answered(void* record, int ares_status, int, ares_addrinfo* found) noexcept {
  const std::unique_ptr<dns_question::record> asked(static_cast<dns_question::record*>(record));
  --asked->channel.running_;
  if (asked->question) asked->question->answered(ares_status, found);
  if (found) ares_freeaddrinfo(found);
}

void dns_channel::answered_with(void* record, int ares_status, int, unsigned char* message,
                                int bytes) noexcept {
  const std::unique_ptr<dns_question::record> asked(static_cast<dns_question::record*>(record));
  --asked->channel.running_;
  const std::span<const unsigned char> whole(message, static_cast<std::size_t>(message ? bytes : 0));
  if (asked->question) asked->question->answered(ares_status, whole);
}

void dns_channel::process(int readable, int writable) noexcept {
  if (!ares_) return;
  ares_process_fd(ares_, readable, writable);
  start_queued();
}

// Runs after each call of c-ares: starts queued queries and arms the timer for the next call that c-ares
// needs.
void dns_channel::start_queued() noexcept {
  while (running_ < concurrent_max) {
    dns_question::queue_entry* first = queue_.pop_front();
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
  const bool finished = !readable && !writable;
  if (known != self.watches_.end()) {
    socket_watch& watch = **known;
    if (!finished) return watch.set_interest(readable, writable);
    self.watches_.erase(known);
    return watch.retire();
  }
  if (finished) return;
  const int ours = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (ours < 0)  // c-ares' timeout ends the query
    return self.on_.log().write(
        log_room::net, log_level::warning,
        "no file descriptor left for a name server's socket: raise the limit (ulimit -n)");
  socket_watch* made = nullptr;
  const bool enough = base::if_memory_allows([&] {
    self.watches_.reserve(self.watches_.size() + 1);
    made = new socket_watch(self, socket, ours);
  });
  if (!enough) {  // as above
    ::close(ours);
    return;
  }
  ++self.watched_;
  self.watches_.push_back(made);
  made->set_interest(readable, writable);
}

dns_channel::closing dns_channel::close() noexcept {
  CORACLE_ASSERT(queue_.empty(), "a dns_channel was closed while a lookup waits");
  if (holder) on_.disarm(*this);
  if (ares_) ares_destroy(std::exchange(ares_, nullptr));
  return closing(*this);
}

void dns_channel::watch_ended() noexcept {
  if (--watched_ == 0 && closer_) std::exchange(closer_, {}).resume();
}

socket_watch::side::side(socket_watch& w, runtime_internal::operation::kind k,
                         runtime_internal::handle h) noexcept
    : owner(w) {
  type = k;
  on = h;
  complete = [](runtime_internal::operation& o, std::int64_t outcome) noexcept {
    side& self = static_cast<side&>(o);
    self.owner.ready(self, outcome);
  };
}

socket_watch::socket_watch(dns_channel& of, int theirs, runtime_internal::handle ours) noexcept
    : channel_(of),
      theirs_(theirs),
      ours_(ours),
      reading_(*this, runtime_internal::operation::kind::poll_in, ours),
      writing_(*this, runtime_internal::operation::kind::poll_out, ours) {}

socket_watch::~socket_watch() { channel_.owner_loop().io().close(ours_); }

void socket_watch::set_interest(bool readable, bool writable) noexcept {
  reading_.interested = readable;
  writing_.interested = writable;
  poll(reading_);
  poll(writing_);
}

// A poll in flight that is no longer wanted is left running; its result is ignored.
void socket_watch::poll(side& s) noexcept {
  if (!s.interested || s.in_flight || retired_) return;
  s.in_flight = true;
  channel_.owner_loop().io().submit(s);
}

void socket_watch::ready(side& s, std::int64_t outcome) noexcept {
  s.in_flight = false;
  if (s.interested && !retired_ && outcome >= 0) {
    busy_ = true;
    channel_.process(&s == &reading_ ? theirs_ : -1, &s == &writing_ ? theirs_ : -1);
    busy_ = false;
  }
  // A failed poll is not retried, since it would fail again: c-ares' timeout then ends the query.
  if (outcome >= 0) poll(s);
  end_if_idle();
}

void socket_watch::retire() noexcept {
  retired_ = true;
  for (side* s : {&reading_, &writing_})
    if (s->in_flight) channel_.owner_loop().io().cancel(*s);
  end_if_idle();
}

void socket_watch::end_if_idle() noexcept {
  if (!retired_ || busy_ || reading_.in_flight || writing_.in_flight) return;
  dns_channel& channel = channel_;
  delete this;
  channel.watch_ended();
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
