#include "net/tcp_meter.hpp"

#include "coracle/net/address.hpp"
#include "net/raw_address.hpp"

#include <string_view>
#include <utility>

namespace coracle::net {

namespace {

// The bounds that A80 recommends.
constexpr std::array<double, 34> rtt_bounds_s{
    0,      0.000001, 0.0000025, 0.000005, 0.0000075, 0.00001, 0.000025, 0.00005, 0.000075,
    0.0001, 0.00025,  0.0005,    0.00075,  0.001,     0.0025,  0.005,    0.0075,  0.01,
    0.025,  0.05,     0.075,     0.1,      0.25,      0.5,     0.75,     1,       2.5,
    5,      7.5,      10,        25,       50,        75,      100};
// 0, and the powers of two from 1 KiB to 4 TiB.
constexpr auto rate_bounds = [] {
  std::array<double, 34> all{};
  double bound = 1024;
  for (std::size_t i = 1; i < all.size(); ++i, bound *= 2) all[i] = bound;
  return all;
}();

constexpr instrument of_tcp(instrument_kind kind, std::string_view name, std::string_view unit,
                            std::string_view description, std::span<const double> bounds = {}) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = kind,
          .labels = {},
          .optional_labels = {"network.local.address", "network.local.port", "network.peer.address",
                              "network.peer.port"},
          .bounds = bounds,
          .on_by_default = false};
}

using enum instrument_kind;

constexpr instrument min_rtt =
    of_tcp(histogram, "grpc.tcp.min_rtt", "s", "The shortest round trip of a connection.", rtt_bounds_s);
constexpr instrument delivery_rate =
    of_tcp(histogram, "grpc.tcp.delivery_rate", "By/s",
           "The latest throughput of a connection that the network limited.", rate_bounds);
constexpr instrument packets_sent =
    of_tcp(counter, "grpc.tcp.packets_sent", "{packet}", "Packets with data that TCP has sent.");
constexpr instrument packets_retransmitted =
    of_tcp(counter, "grpc.tcp.packets_retransmitted", "{packet}", "Packets that TCP has sent again.");
constexpr instrument spuriously_retransmitted =
    of_tcp(counter, "grpc.tcp.packets_spurious_retransmitted", "{packet}",
           "Packets that TCP has sent again although the peer had them.");
constexpr instrument recurring_retransmits =
    of_tcp(counter, "grpc.tcp.recurring_retransmits", "{packet}",
           "How often the latest packet had been sent again when its connection ended.");
constexpr instrument bytes_sent = of_tcp(counter, "grpc.tcp.bytes_sent", "By", "Bytes that TCP has sent.");
constexpr instrument bytes_retransmitted =
    of_tcp(counter, "grpc.tcp.bytes_retransmitted", "By", "Bytes that TCP has sent again.");
constexpr instrument connections_created =
    of_tcp(counter, "grpc.tcp.connections_created", "{connection}", "TCP connections that were established.");
constexpr instrument connection_count =
    of_tcp(up_down_counter, "grpc.tcp.connection_count", "{connection}", "TCP connections that are open.");

constexpr std::array all_of_tcp{&min_rtt,
                                &delivery_rate,
                                &packets_sent,
                                &packets_retransmitted,
                                &spuriously_retransmitted,
                                &recurring_retransmits,
                                &bytes_sent,
                                &bytes_retransmitted,
                                &connections_created,
                                &connection_count};

// The two labels of an address: "192.0.2.1" and "443".
void set_labels(const address& a, std::string& ip, std::string& port) {
  if (!a.is_ip()) return;
  ip = a.with_port(0).to_string();  // "192.0.2.1:0", "[2001:db8::1]:0"
  ip.resize(ip.rfind(':'));
  if (ip.starts_with('[')) ip = ip.substr(1, ip.size() - 2);
  port = std::to_string(a.port());
}

}  // namespace

std::span<const instrument* const> tcp_instruments() noexcept { return all_of_tcp; }

tcp_meter::tcp_meter() noexcept {
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<tcp_meter&>(t);
    self.query_due(self.loop_->now());
    self.loop_->arm(self, deadline_after(self.loop_->now(), search_interval));
  };
}

void tcp_meter::enable(loop& on, bool addresses) noexcept {
  loop_ = &on;
  addresses_ = addresses;
}

void tcp_meter::disable() noexcept {
  if (!loop_) return;
  loop_->disarm(*this);
  loop_ = nullptr;
  connections_.clear();
}

bool tcp_meter::opened(runtime_internal::handle socket) {
  if (!loop_ || !loop_->metrics() || !loop_->io().tcp_statistics_of(socket)) return false;
  connection c;
  if (addresses_) {
    address local;
    address peer;
    socket_addresses(*loop_, socket).read(local, peer);
    set_labels(local, c.labels[0], c.labels[1]);
    set_labels(peer, c.labels[2], c.labels[3]);
  }
  const double share = 0.1 + static_cast<double>(loop_->io().random() >> 11) * 0x1p-53;
  c.due = deadline_after(loop_->now(), std::chrono::duration_cast<duration>(interval * share));
  connection& kept = connections_[socket] = std::move(c);
  if (!holder) loop_->arm(*this, deadline_after(loop_->now(), search_interval));
  const std::array<std::string_view, 4> labels{kept.labels[0], kept.labels[1], kept.labels[2],
                                               kept.labels[3]};
  loop_->metrics()->measure(connections_created, 1, labels);
  loop_->metrics()->measure(connection_count, 1, labels);
  return true;
}

void tcp_meter::query_due(time_point now) noexcept {
  for (auto& [socket, c] : connections_) {
    if (c.due > now) continue;
    query(socket, c, false);
    // As much at random as the first time, so that connections which began together do not stay together.
    const double share = 0.9 + 0.2 * static_cast<double>(loop_->io().random() >> 11) * 0x1p-53;
    c.due = deadline_after(now, std::chrono::duration_cast<duration>(interval * share));
  }
}

void tcp_meter::closing(runtime_internal::handle socket) noexcept {
  const auto at = connections_.find(socket);
  if (at == connections_.end()) return;  // it was disabled meanwhile
  query(socket, at->second, true);
  connections_.erase(at);
  if (connections_.empty()) loop_->disarm(*this);
}

void tcp_meter::query(runtime_internal::handle socket, connection& c, bool last) noexcept {
  metrics_sink* const to = loop_->metrics();
  const auto found = loop_->io().tcp_statistics_of(socket);
  if (!to) return;
  const std::array<std::string_view, 4> labels{c.labels[0], c.labels[1], c.labels[2], c.labels[3]};
  const auto measure = [&](const instrument& by, double value) { to->measure(by, value, labels); };
  const auto add = [&](const instrument& by, std::uint64_t now, std::uint64_t before) {
    if (now > before) measure(by, static_cast<double>(now - before));
  };
  if (last) measure(connection_count, -1);
  if (!found) return;
  if (found->min_rtt) measure(min_rtt, std::chrono::duration<double>(*found->min_rtt).count());
  if (found->delivery_rate) measure(delivery_rate, static_cast<double>(*found->delivery_rate));
  add(packets_sent, found->packets_sent, c.last.packets_sent);
  add(packets_retransmitted, found->packets_retransmitted, c.last.packets_retransmitted);
  add(spuriously_retransmitted, found->packets_retransmitted_spuriously,
      c.last.packets_retransmitted_spuriously);
  add(bytes_sent, found->bytes_sent, c.last.bytes_sent);
  add(bytes_retransmitted, found->bytes_retransmitted, c.last.bytes_retransmitted);
  if (last) add(recurring_retransmits, found->retransmits, 0);
  c.last = *found;
}

}  // namespace coracle::net
