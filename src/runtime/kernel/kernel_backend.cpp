#include "runtime/kernel/kernel_backend.hpp"

#include "coracle/base/impl/assert.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <optional>

namespace coracle::runtime_internal {

namespace {

sockaddr_storage unwrap(const raw_address& a) noexcept {
  sockaddr_storage s{};
  std::memcpy(&s, a.bytes, std::min<std::size_t>(a.size, sizeof s));
  return s;
}

template <class Query>
std::int64_t address_by(Query query, handle h, raw_address& out) noexcept {
  sockaddr_storage s{};
  socklen_t size = sizeof s;
  if (query(h, reinterpret_cast<sockaddr*>(&s), &size) < 0) return -errno;
  out.size = std::min<std::uint32_t>(size, sizeof out.bytes);
  std::memset(out.bytes, 0, sizeof out.bytes);
  std::memcpy(out.bytes, &s, out.size);
  return 0;
}

// An older kernel fills the beginning of a longer structure; the rest is zero.
template <class T>
std::optional<T> read_option(int s, int level, int name) noexcept {
  T value{};
  socklen_t size = sizeof value;
  if (::getsockopt(s, level, name, &value, &size) != 0) return {};
  return value;
}

// The kernel's struct tcp_info (include/uapi/linux/tcp.h), which only grows at its end. That of the C library
// ends earlier, and the kernel's header cannot be included beside it.
struct long_tcp_info {
  std::uint8_t state, ca_state, retransmits, probes, backoff, options, window_scales;
  std::uint8_t flags;  // the lowest bit: delivery_rate is limited by the program
  std::uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
  std::uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
  std::uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering, rcv_rtt,
      rcv_space;
  std::uint32_t total_retrans;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  std::uint32_t segs_out, segs_in, notsent_bytes, min_rtt_us, data_segs_in, data_segs_out;
  std::uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
  std::uint32_t delivered, delivered_ce;
  std::uint64_t bytes_sent, bytes_retrans;
  std::uint32_t dsack_dups, reord_seen;
};
static_assert(offsetof(long_tcp_info, total_retrans) == offsetof(tcp_info, tcpi_total_retrans));
static_assert(offsetof(long_tcp_info, delivery_rate) == 160 && sizeof(long_tcp_info) == 224);

duration to_duration(const timeval& t) noexcept {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

std::array<std::uint32_t, socket_options::tcp_info_numbers> to_numbers(const tcp_info& t) noexcept {
  return {t.tcpi_state,         t.tcpi_ca_state,       t.tcpi_retransmits,
          t.tcpi_probes,        t.tcpi_backoff,        t.tcpi_options,
          t.tcpi_snd_wscale,    t.tcpi_rcv_wscale,     t.tcpi_rto,
          t.tcpi_ato,           t.tcpi_snd_mss,        t.tcpi_rcv_mss,
          t.tcpi_unacked,       t.tcpi_sacked,         t.tcpi_lost,
          t.tcpi_retrans,       t.tcpi_fackets,        t.tcpi_last_data_sent,
          t.tcpi_last_ack_sent, t.tcpi_last_data_recv, t.tcpi_last_ack_recv,
          t.tcpi_pmtu,          t.tcpi_rcv_ssthresh,   t.tcpi_rtt,
          t.tcpi_rttvar,        t.tcpi_snd_ssthresh,   t.tcpi_snd_cwnd,
          t.tcpi_advmss,        t.tcpi_reordering};
}

void set_option(int s, int level, int name, int value) noexcept {
  ::setsockopt(s, level, name, &value, sizeof value);
}

bool is_inet(int family) noexcept { return family == AF_INET || family == AF_INET6; }

std::int64_t read_ns(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t stream_socket(int family) noexcept {
  const int s = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -errno;
  if (is_inet(family)) set_option(s, IPPROTO_TCP, TCP_NODELAY, 1);
  return s;
}

}  // namespace

std::string describe_error(int error) {
  const char* name = ::strerrorname_np(error);
  return std::string(name ? name : "error") + " (" + std::strerror(error) + ")";
}

kernel_backend::kernel_backend(logger& log, handle event) noexcept : log_(log), event_(event) {
  if (::getrandom(&random_state_, sizeof random_state_, GRND_NONBLOCK) != sizeof random_state_)
    random_state_ = static_cast<std::uint64_t>(read_ns(CLOCK_MONOTONIC));
}

kernel_backend::~kernel_backend() {
  if (stats_.in_flight > 0) {
    log_.write(log_room::runtime, log_level::error,
               "a loop ends with " + std::to_string(stats_.in_flight) + " operations in flight");
#ifndef NDEBUG
    CORACLE_ASSERT(stats_.in_flight == 0,
                   "wait for the end of each operation and source before the loop ends");
#endif
  }
  ::close(event_);
}

std::int64_t kernel_backend::open_stream(int family) noexcept {
  ++stats_.system_calls;
  return stream_socket(family);
}

// Without IP_BIND_ADDRESS_NO_PORT the kernel would choose the port here, and one that is free for all
// servers: connections to several servers could then not share a port.
std::int64_t kernel_backend::bind_stream(handle h, const raw_address& at) noexcept {
  stats_.system_calls += 3;
  const sockaddr_storage address = unwrap(at);
  set_option(h, SOL_SOCKET, SO_REUSEADDR, 1);  // a port that an earlier connection has used
  set_option(h, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  return ::bind(h, reinterpret_cast<const sockaddr*>(&address), at.size) < 0 ? -errno : 0;
}

// Updates no counters: they belong to the loop, and this may run on any thread.
std::int64_t kernel_backend::open_listener(const raw_address& at, const listen_options& options) noexcept {
  const sockaddr_storage address = unwrap(at);
  const std::int64_t opened = stream_socket(address.ss_family);  // connections inherit TCP_NODELAY from it
  if (opened < 0) return opened;
  const int s = static_cast<int>(opened);
  if (is_inet(address.ss_family)) set_option(s, SOL_SOCKET, SO_REUSEADDR, 1);
  if (options.reuse_port) set_option(s, SOL_SOCKET, SO_REUSEPORT, 1);
  if (address.ss_family == AF_INET6) set_option(s, IPPROTO_IPV6, IPV6_V6ONLY, options.only_ipv6 ? 1 : 0);
  if (::bind(s, reinterpret_cast<const sockaddr*>(&address), at.size) < 0 ||
      ::listen(s, options.backlog) < 0) {
    const int error = errno;
    ::close(s);
    return -error;
  }
  return s;
}

std::int64_t kernel_backend::open_datagram(const raw_address& at, const listen_options& options) noexcept {
  stats_.system_calls += 2;
  const sockaddr_storage address = unwrap(at);
  const int s = ::socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -errno;
  if (options.reuse_port) set_option(s, SOL_SOCKET, SO_REUSEPORT, 1);
  if (address.ss_family == AF_INET6) set_option(s, IPPROTO_IPV6, IPV6_V6ONLY, options.only_ipv6 ? 1 : 0);
  if (::bind(s, reinterpret_cast<const sockaddr*>(&address), at.size) == 0) return s;
  const int error = errno;
  ::close(s);
  return -error;
}

std::int64_t kernel_backend::connect_datagram(handle h, const raw_address& to) noexcept {
  ++stats_.system_calls;
  const sockaddr_storage address = unwrap(to);
  return ::connect(h, reinterpret_cast<const sockaddr*>(&address), to.size) < 0 ? -errno : 0;
}

std::int64_t kernel_backend::local_address(handle h, raw_address& out) noexcept {
  return address_by(::getsockname, h, out);
}
std::int64_t kernel_backend::peer_address(handle h, raw_address& out) noexcept {
  return address_by(::getpeername, h, out);
}

// A connection whose handshake ended while close_queue() attached its filter has the filter, too: the kernel
// copies it with the socket, after it has let the packet through. What it has dropped, the client repeats.
std::int64_t kernel_backend::accept_now(handle listener) noexcept {
  for (;;) {
    ++stats_.system_calls;
    const int h = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (h >= 0) {
      ++stats_.system_calls;
      set_option(h, SOL_SOCKET, SO_DETACH_FILTER, 0);
      return h;
    }
    if (errno == EWOULDBLOCK) return -EAGAIN;
    if (!is_fault_of_one_connection(errno)) return -errno;
  }
}

// A filter of one instruction, which accepts no byte of a packet. A UNIX socket has no packets that a filter
// sees.
void kernel_backend::close_queue(handle listener) noexcept {
  ++stats_.system_calls;
  sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &drop};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void kernel_backend::open_queue(handle listener) noexcept {
  ++stats_.system_calls;
  const int ignored = 0;
  ::setsockopt(listener, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored);
}

// A UNIX socket rejects the option, and does not need it.
void kernel_backend::set_unacknowledged_timeout(handle h, duration after) noexcept {
  using std::chrono::milliseconds;
  constexpr milliseconds longest{std::numeric_limits<int>::max()};
  ++stats_.system_calls;
  // 0 would select the kernel's default.
  const auto ms = std::clamp(std::chrono::ceil<milliseconds>(after), milliseconds(1), longest);
  set_option(h, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(ms.count()));
}

socket_options kernel_backend::options_of(handle h) noexcept {
  stats_.system_calls += 8;
  socket_options found;
  if (const auto l = read_option<linger>(h, SOL_SOCKET, SO_LINGER))
    found.linger = {l->l_onoff != 0, std::chrono::seconds(l->l_linger)};
  if (const auto t = read_option<timeval>(h, SOL_SOCKET, SO_RCVTIMEO))
    found.receive_timeout = to_duration(*t);
  if (const auto t = read_option<timeval>(h, SOL_SOCKET, SO_SNDTIMEO)) found.send_timeout = to_duration(*t);
  found.receive_buffer_bytes = read_option<int>(h, SOL_SOCKET, SO_RCVBUF);
  found.send_buffer_bytes = read_option<int>(h, SOL_SOCKET, SO_SNDBUF);
  found.no_delay = read_option<int>(h, IPPROTO_TCP, TCP_NODELAY);
  found.unacknowledged_limit_ms = read_option<int>(h, IPPROTO_TCP, TCP_USER_TIMEOUT);
  if (const auto t = read_option<tcp_info>(h, IPPROTO_TCP, TCP_INFO)) found.tcp_info = to_numbers(*t);
  return found;
}

std::optional<tcp_statistics> kernel_backend::tcp_statistics_of(handle h) noexcept {
  ++stats_.system_calls;
  const auto t = read_option<long_tcp_info>(h, IPPROTO_TCP, TCP_INFO);
  if (!t) return {};
  tcp_statistics s;
  constexpr std::uint32_t not_measured = ~std::uint32_t{0};
  if (t->min_rtt_us != 0 && t->min_rtt_us != not_measured)
    s.min_rtt = std::chrono::microseconds(t->min_rtt_us);
  constexpr std::uint8_t limited_by_program = 1;
  if ((t->flags & limited_by_program) == 0 && t->delivery_rate != 0) s.delivery_rate = t->delivery_rate;
  s.packets_sent = t->data_segs_out;
  s.packets_retransmitted = t->total_retrans;
  s.packets_retransmitted_spuriously = t->dsack_dups;
  s.bytes_sent = t->bytes_sent;
  s.bytes_retransmitted = t->bytes_retrans;
  s.retransmits = t->retransmits;
  return s;
}

void kernel_backend::shutdown_send(handle h) noexcept {
  ++stats_.system_calls;
  ::shutdown(h, SHUT_WR);
}

void kernel_backend::close_socket(handle h, bool abort) noexcept {
  ++stats_.system_calls;
  if (abort) {
    const linger reset{1, 0};
    ::setsockopt(h, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  ::close(h);  // not repeated on EINTR: Linux has closed it already
}

void kernel_backend::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
}

time_point kernel_backend::now() noexcept { return time_point(duration(read_ns(CLOCK_MONOTONIC))); }
std::int64_t kernel_backend::wall_ns() noexcept { return read_ns(CLOCK_REALTIME); }

std::uint64_t kernel_backend::random() noexcept {  // splitmix64
  std::uint64_t z = random_state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

bool kernel_backend::is_exhaustion(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

// accept(2) itself reports errors of the new connection.
bool kernel_backend::is_fault_of_one_connection(int error) noexcept {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
    case EPERM:
    case EINTR: return true;
    default: return false;
  }
}

void kernel_backend::exhausted(int error) noexcept {
  if (exhaustion_logged_) return;
  exhaustion_logged_ = true;
  log_.write(log_room::runtime, log_level::warning,
             "cannot accept connections, retrying every 50 ms: " + describe_error(error));
}

send_progress& send_progress::begin(operation& op) noexcept {
  return *::new (static_cast<void*>(op.scratch + scratch::rest)) send_progress{};
}

send_progress& send_progress::of(operation& op) noexcept {
  return *std::launder(reinterpret_cast<send_progress*>(op.scratch + scratch::rest));
}

msghdr& send_progress::rest(operation& op) noexcept {
  static_assert(sizeof(operation::piece) == sizeof(iovec) &&
                offsetof(operation::piece, size) == offsetof(iovec, iov_len));
  if (of_piece_ > 0) {  // the rest of this piece alone: the others follow in a separate message
    const operation::piece& p = op.pieces[piece_];
    split_ = {const_cast<char*>(static_cast<const char*>(p.data)) + of_piece_, p.size - of_piece_};
    message_.msg_iov = &split_;
    message_.msg_iovlen = 1;
  } else {
    constexpr std::size_t pieces_max = 1024;  // IOV_MAX
    message_.msg_iov = reinterpret_cast<iovec*>(const_cast<operation::piece*>(op.pieces)) + piece_;
    message_.msg_iovlen = std::min(op.piece_count - piece_, pieces_max);
  }
  return message_;
}

bool send_progress::advance(operation& op, std::int64_t n) noexcept {
  sent_ += n;
  auto left = static_cast<std::size_t>(n);
  while (piece_ < op.piece_count) {
    const std::size_t open = op.pieces[piece_].size - of_piece_;
    if (left < open) {
      of_piece_ += left;
      return false;
    }
    left -= open;
    of_piece_ = 0;
    ++piece_;
  }
  return true;
}

datagram_message& datagram_message::begin(operation& op) noexcept {
  auto& m = *::new (static_cast<void*>(op.scratch + scratch::rest)) datagram_message{};
  if (op.type == operation::kind::receive_from) {
    m.into_ = {op.into.data(), op.into.size()};
    m.header_.msg_iov = &m.into_;
    m.header_.msg_iovlen = 1;
    m.header_.msg_name = op.sender->bytes;
    m.header_.msg_namelen = sizeof op.sender->bytes;
    return m;
  }
  static_assert(sizeof(operation::piece) == sizeof(iovec) &&
                offsetof(operation::piece, size) == offsetof(iovec, iov_len));
  m.header_.msg_iov = reinterpret_cast<iovec*>(const_cast<operation::piece*>(op.pieces));
  m.header_.msg_iovlen = op.piece_count;
  if (op.address) {
    m.header_.msg_name = const_cast<std::uint8_t*>(op.address->bytes);
    m.header_.msg_namelen = op.address->size;
  }
  return m;
}

datagram_message& datagram_message::of(operation& op) noexcept {
  return *std::launder(reinterpret_cast<datagram_message*>(op.scratch + scratch::rest));
}

void datagram_message::finish_receive(operation& op) const noexcept {
  op.sender->size = std::min<std::uint32_t>(header_.msg_namelen, sizeof op.sender->bytes);
}

}  // namespace coracle::runtime_internal
