#include "coracle/services/channelz_service.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "net/duplex.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/socket_options.hpp"
#include "server/server_registry.hpp"
#include "server/server_state.hpp"
#include "services/channelz.coracle.hpp"
#include "wellknown/channelz.pb.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::services {

// Fill the protobuf messages from snapshots; a `ref` is an id and a name.
void write(std::uint64_t id, const server_snapshot& from, const rpc::event_trace& trace,
           wellknown::channelz::v1::Server& to);
void write(const connection_snapshot& from, wellknown::channelz::v1::Socket& to);
void write(const listener_snapshot& from, wellknown::channelz::v1::Socket& to);
void write(const rpc::channel_snapshot& from, wellknown::channelz::v1::Channel& to);
void write(const rpc::subchannel_snapshot& from, wellknown::channelz::v1::Subchannel& to);
void write_ref(const connection_snapshot& from, wellknown::channelz::v1::SocketRef& to);

namespace {

namespace wire = wellknown::channelz::v1;

void write(const net::address& from, wire::Address& to) {
  switch (from.kind()) {
    case net::address::family::none: to.mutable_other_address()->set_name("in-process"); return;
    case net::address::family::path: to.mutable_uds_address()->set_filename(from.name()); return;
    case net::address::family::abstract: to.mutable_uds_address()->set_filename("@" + from.name()); return;
    case net::address::family::ipv4:
    case net::address::family::ipv6: break;
  }
  auto& tcp = *to.mutable_tcpip_address();
  const std::size_t length = from.kind() == net::address::family::ipv4 ? 4 : 16;
  tcp.set_ip_address(reinterpret_cast<const char*>(from.ip_bytes().data()), length);
  tcp.set_port(from.port());
}

// Sets no timestamp for an event that has never happened.
template <class Mutable>
void write_time(wall_time when, Mutable timestamp) {
  if (when == wall_time{}) return;
  const auto since = when.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  auto& to = *timestamp();
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(since - seconds).count()));
}

wire::ChannelConnectivityState::State state_of(std::string_view name) {
  wire::ChannelConnectivityState::State found = wire::ChannelConnectivityState::UNKNOWN;
  (void)wire::ChannelConnectivityState::State_Parse(std::string(name), &found);
  return found;
}

std::int64_t number(std::uint64_t n) noexcept { return static_cast<std::int64_t>(n); }

// The first certificate of a PEM text, as DER.
std::string first_certificate(std::string_view pem) {
  constexpr std::string_view before = "-----BEGIN CERTIFICATE-----";
  const std::size_t from = pem.find(before);
  if (from == std::string_view::npos) return {};
  pem.remove_prefix(from + before.size());
  std::string text;
  for (const char c : pem.substr(0, pem.find('-')))
    if (c != '\n' && c != '\r') text += c;
  std::string der;
  return base::base64_decode(text, der) ? der : std::string();
}

void write(const auth_context& from, const net::connection_details* details, wire::Security& to) {
  if (from.type() != "tls") {
    to.mutable_other()->set_name(std::string(from.type()));
    return;
  }
  // OpenSSL has names of its own for cipher suites before TLS 1.3.
  const std::string cipher(from.cipher());
  if (cipher.starts_with("TLS_")) to.mutable_tls()->set_standard_name(cipher);
  else to.mutable_tls()->set_other_name(cipher);
  to.mutable_tls()->set_remote_certificate(first_certificate(from.peer_certificates_pem()));
  if (details) to.mutable_tls()->set_local_certificate(details->local_certificate);
}

wire::ChannelTraceEvent::Severity severity_of(rpc::traced_event::severity level) {
  switch (level) {
    case rpc::traced_event::severity::info: return wire::ChannelTraceEvent::CT_INFO;
    case rpc::traced_event::severity::warning: return wire::ChannelTraceEvent::CT_WARNING;
    case rpc::traced_event::severity::error: return wire::ChannelTraceEvent::CT_ERROR;
  }
  return wire::ChannelTraceEvent::CT_UNKNOWN;
}

void write(duration from, google::protobuf::Duration& to) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(from);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(from - seconds).count()));
}

wire::SocketOption& add_option(wire::SocketData& to, const char* name, const std::string& value) {
  wire::SocketOption& option = *to.add_option();
  option.set_name(name);
  option.set_value(value);
  return option;
}

// The lite runtime has no PackFrom() that knows the name on the wire, which is not that of our package.
template <class Message>
void set_additional(wire::SocketOption& option, const char* type, const Message& value) {
  option.mutable_additional()->set_type_url(std::string("type.googleapis.com/grpc.channelz.v1.") + type);
  option.mutable_additional()->set_value(value.SerializeAsString());
}

std::string in_ms(duration d) { return std::to_string(d / std::chrono::milliseconds(1)) + " ms"; }

void add_timeout(wire::SocketData& to, const char* name, const std::optional<duration>& d) {
  if (!d) return;
  wire::SocketOptionTimeout timeout;
  write(*d, *timeout.mutable_duration());
  set_additional(add_option(to, name, *d == duration::zero() ? "none" : in_ms(*d)), "SocketOptionTimeout",
                 timeout);
}

void add_number(wire::SocketData& to, const char* name, const std::optional<int>& value) {
  if (value) add_option(to, name, std::to_string(*value));
}

wire::SocketOptionTcpInfo to_message(
    const std::array<std::uint32_t, runtime_internal::socket_options::tcp_info_numbers>& from) {
  using info = wire::SocketOptionTcpInfo;
  static constexpr void (info::* set[])(std::uint32_t) = {
      &info::set_tcpi_state,         &info::set_tcpi_ca_state,       &info::set_tcpi_retransmits,
      &info::set_tcpi_probes,        &info::set_tcpi_backoff,        &info::set_tcpi_options,
      &info::set_tcpi_snd_wscale,    &info::set_tcpi_rcv_wscale,     &info::set_tcpi_rto,
      &info::set_tcpi_ato,           &info::set_tcpi_snd_mss,        &info::set_tcpi_rcv_mss,
      &info::set_tcpi_unacked,       &info::set_tcpi_sacked,         &info::set_tcpi_lost,
      &info::set_tcpi_retrans,       &info::set_tcpi_fackets,        &info::set_tcpi_last_data_sent,
      &info::set_tcpi_last_ack_sent, &info::set_tcpi_last_data_recv, &info::set_tcpi_last_ack_recv,
      &info::set_tcpi_pmtu,          &info::set_tcpi_rcv_ssthresh,   &info::set_tcpi_rtt,
      &info::set_tcpi_rttvar,        &info::set_tcpi_snd_ssthresh,   &info::set_tcpi_snd_cwnd,
      &info::set_tcpi_advmss,        &info::set_tcpi_reordering};
  static_assert(std::size(set) == runtime_internal::socket_options::tcp_info_numbers);
  info to;
  for (std::size_t i = 0; i < from.size(); ++i) (to.*set[i])(from[i]);
  return to;
}

void write(const runtime_internal::socket_options& from, wire::SocketData& to) {
  if (from.linger) {
    wire::SocketOptionLinger linger;
    linger.set_active(from.linger->active);
    write(from.linger->time, *linger.mutable_duration());
    set_additional(add_option(to, "SO_LINGER", from.linger->active ? in_ms(from.linger->time) : "off"),
                   "SocketOptionLinger", linger);
  }
  add_timeout(to, "SO_RCVTIMEO", from.receive_timeout);
  add_timeout(to, "SO_SNDTIMEO", from.send_timeout);
  add_number(to, "SO_RCVBUF", from.receive_buffer_bytes);
  add_number(to, "SO_SNDBUF", from.send_buffer_bytes);
  add_number(to, "TCP_NODELAY", from.no_delay);
  add_number(to, "TCP_USER_TIMEOUT", from.unacknowledged_limit_ms);
  if (from.tcp_info)
    set_additional(add_option(to, "TCP_INFO", ""), "SocketOptionTcpInfo", to_message(*from.tcp_info));
}

void write(const rpc::event_trace& from, wire::ChannelTrace& to) {
  to.set_num_events_logged(number(from.added()));
  write_time(from.made(), [&] { return to.mutable_creation_timestamp(); });
  for (const rpc::traced_event& e : from.latest()) {
    wire::ChannelTraceEvent& event = *to.add_events();
    event.set_description(e.description);
    event.set_severity(severity_of(e.level));
    write_time(e.time, [&] { return event.mutable_timestamp(); });
    if (e.subchannel != 0) event.mutable_subchannel_ref()->set_subchannel_id(number(e.subchannel));
  }
}

}  // namespace

void write(std::uint64_t id, const server_snapshot& from, const rpc::event_trace& trace, wire::Server& to) {
  to.mutable_ref()->set_server_id(number(id));
  auto& data = *to.mutable_data();
  write(trace, *data.mutable_trace());
  data.set_calls_started(number(from.calls_started));
  data.set_calls_succeeded(number(from.calls_succeeded));
  data.set_calls_failed(number(from.calls_failed));
  write_time(from.last_call_started, [&] { return data.mutable_last_call_started_timestamp(); });
  for (const listener_snapshot& l : from.listeners) {
    auto& ref = *to.add_listen_socket();
    ref.set_socket_id(number(l.id));
    ref.set_name(l.local.to_string());
  }
}

void write(const connection_snapshot& from, wire::Socket& to) {
  write_ref(from, *to.mutable_ref());
  write(from.local, *to.mutable_local());
  write(from.peer, *to.mutable_remote());
  if (from.auth) write(*from.auth, from.details.get(), *to.mutable_security());
  auto& data = *to.mutable_data();
  data.set_streams_started(number(from.streams_started));
  data.set_streams_succeeded(number(from.streams_succeeded));
  data.set_streams_failed(number(from.streams_failed));
  data.set_messages_sent(number(from.messages_sent));
  data.set_messages_received(number(from.messages_received));
  data.set_keep_alives_sent(number(from.keepalives_sent));
  write_time(from.last_stream_started, [&] { return data.mutable_last_remote_stream_created_timestamp(); });
  write_time(from.last_message_sent, [&] { return data.mutable_last_message_sent_timestamp(); });
  write_time(from.last_message_received, [&] { return data.mutable_last_message_received_timestamp(); });
  data.mutable_local_flow_control_window()->set_value(from.receive_window_bytes);
  data.mutable_remote_flow_control_window()->set_value(from.send_window_bytes);
  if (from.received_goaway) data.mutable_received_goaway_error()->set_value(*from.received_goaway);
  data.set_peer_max_concurrent_streams(from.peer_max_concurrent_streams.value_or(0));
  if (from.details) write(from.details->socket, data);
}

void write(const listener_snapshot& from, wire::Socket& to) {
  to.mutable_ref()->set_socket_id(number(from.id));
  to.mutable_ref()->set_name(from.local.to_string());
  write(from.local, *to.mutable_local());
  auto& data = *to.mutable_data();
  if (from.options) write(*from.options, data);
}

void write(const rpc::channel_snapshot& from, wire::Channel& to) {
  to.mutable_ref()->set_channel_id(number(from.id));
  to.mutable_ref()->set_name(from.target);
  auto& data = *to.mutable_data();
  data.mutable_state()->set_state(state_of(from.state));
  data.set_target(from.target);
  write(from.trace, *data.mutable_trace());
  data.set_calls_started(number(from.calls_started));
  data.set_calls_succeeded(number(from.calls_succeeded));
  data.set_calls_failed(number(from.calls_failed));
  write_time(from.last_call_started, [&] { return data.mutable_last_call_started_timestamp(); });
  data.set_max_connections_per_subchannel(from.connections_max);
  for (const rpc::subchannel_snapshot& s : from.subchannels) {
    auto& ref = *to.add_subchannel_ref();
    ref.set_subchannel_id(number(s.id));
    ref.set_name(s.address);
  }
}

void write(const rpc::subchannel_snapshot& from, wire::Subchannel& to) {
  to.mutable_ref()->set_subchannel_id(number(from.id));
  to.mutable_ref()->set_name(from.address);
  auto& data = *to.mutable_data();
  data.mutable_state()->set_state(state_of(from.state));
  data.set_target(from.address);
  write(from.trace, *data.mutable_trace());
  data.set_calls_started(number(from.calls_started));
  data.set_calls_succeeded(number(from.calls_succeeded));
  data.set_calls_failed(number(from.calls_failed));
  write_time(from.last_call_started, [&] { return data.mutable_last_call_started_timestamp(); });
  data.set_max_connections_per_subchannel(from.connections_max);
  for (const connection_snapshot& c : from.connections) write_ref(c, *to.add_socket_ref());
}

void write_ref(const connection_snapshot& from, wire::SocketRef& to) {
  to.set_socket_id(number(from.id));
  to.set_name(from.peer.to_string());
}

}  // namespace coracle::services

namespace coracle {

namespace {

namespace wire = wellknown::channelz::v1;

// The maximum number of entries in an answer: max_results of 0 leaves it to the server.
std::size_t page_size(std::int64_t requested) noexcept {
  const std::int64_t most = channelz_service::page_max;
  return static_cast<std::size_t>(requested > 0 ? std::min(requested, most) : most);
}

// Ids begin at 1.
std::uint64_t first_id(std::int64_t requested) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(requested, 0));
}

status unknown(const char* resource) { return status::not_found(std::string("no such ") + resource); }

}  // namespace

class channelz_service::implementation final : public wire::rpc::Channelz::service {
 public:
  explicit implementation(server& of)
      : servers_(server_internal::server_registry::of(of.owner())),
        channels_(rpc::channel_registry::of(of.owner())) {}

  [[nodiscard]] bool is_limited() const noexcept override { return false; }

  reply<wire::GetTopChannelsResponse> GetTopChannels(server_context&,
                                                     const wire::GetTopChannelsRequest& request) override {
    const auto all = channels_->all();
    auto next = all.lower_bound(first_id(request.start_channel_id()));
    wire::GetTopChannelsResponse reply;
    for (std::size_t left = page_size(request.max_results()); left > 0 && next != all.end(); --left, ++next) {
      const rpc::channel_snapshot now = co_await next->second->stats();
      services::write(now, *reply.add_channel());
    }
    reply.set_end(next == all.end());
    co_return reply;
  }

  reply<wire::GetChannelResponse> GetChannel(server_context&,
                                             const wire::GetChannelRequest& request) override {
    const auto all = channels_->all();
    const auto found = all.find(static_cast<std::uint64_t>(request.channel_id()));
    if (found == all.end()) co_return unknown("channel");
    const rpc::channel_snapshot now = co_await found->second->stats();
    wire::GetChannelResponse reply;
    services::write(now, *reply.mutable_channel());
    co_return reply;
  }

  reply<wire::GetSubchannelResponse> GetSubchannel(server_context&,
                                                   const wire::GetSubchannelRequest& request) override {
    const auto all = channels_->all();
    for (const auto& [id, channel] : all) {
      const rpc::channel_snapshot now = co_await channel->stats();
      for (const rpc::subchannel_snapshot& s : now.subchannels) {
        if (static_cast<std::int64_t>(s.id) != request.subchannel_id()) continue;
        wire::GetSubchannelResponse reply;
        services::write(s, *reply.mutable_subchannel());
        co_return reply;
      }
    }
    co_return unknown("subchannel");
  }

  reply<wire::GetServersResponse> GetServers(server_context&,
                                             const wire::GetServersRequest& request) override {
    const auto all = servers_->all();
    auto next = all.lower_bound(first_id(request.start_server_id()));
    wire::GetServersResponse reply;
    for (std::size_t left = page_size(request.max_results()); left > 0 && next != all.end(); --left, ++next) {
      const server_snapshot now = co_await next->second->snapshot();
      services::write(next->first, now, next->second->trace(), *reply.add_server());
    }
    reply.set_end(next == all.end());
    co_return reply;
  }

  reply<wire::GetServerResponse> GetServer(server_context&, const wire::GetServerRequest& request) override {
    const auto found = find_server(request.server_id());
    if (!found) co_return unknown("server");
    const server_snapshot now = co_await found->snapshot();
    wire::GetServerResponse reply;
    services::write(found->id, now, found->trace(), *reply.mutable_server());
    co_return reply;
  }

  reply<wire::GetServerSocketsResponse> GetServerSockets(
      server_context&, const wire::GetServerSocketsRequest& request) override {
    const auto found = find_server(request.server_id());
    if (!found) co_return unknown("server");
    const server_snapshot now = co_await found->snapshot();
    wire::GetServerSocketsResponse reply;
    const auto from =
        std::lower_bound(now.connections.begin(), now.connections.end(), first_id(request.start_socket_id()),
                         [](const connection_snapshot& c, std::uint64_t id) { return c.id < id; });
    const auto there = static_cast<std::size_t>(now.connections.end() - from);
    const std::size_t listed = std::min(there, page_size(request.max_results()));
    for (std::size_t i = 0; i < listed; ++i)
      services::write_ref(from[static_cast<std::ptrdiff_t>(i)], *reply.add_socket_ref());
    reply.set_end(listed == there);
    co_return reply;
  }

  reply<wire::GetSocketResponse> GetSocket(server_context&, const wire::GetSocketRequest& request) override {
    wire::GetSocketResponse reply;
    const bool found = co_await find_in_servers(request, *reply.mutable_socket());
    if (found) co_return reply;
    const bool found_in_channel = co_await find_in_channels(request, *reply.mutable_socket());
    if (found_in_channel) co_return reply;
    co_return unknown("socket");
  }

 private:
  [[nodiscard]] std::shared_ptr<server_internal::server_state> find_server(std::int64_t id) const {
    const auto all = servers_->all();
    const auto found = all.find(static_cast<std::uint64_t>(id));
    return found == all.end() ? nullptr : found->second;
  }

  // A summary has nothing that asks the kernel.
  static std::uint64_t detailed(const wire::GetSocketRequest& request) noexcept {
    return request.summary() ? 0 : static_cast<std::uint64_t>(request.socket_id());
  }

  task<bool> find_in_servers(const wire::GetSocketRequest& request, wire::Socket& to) {
    const auto requested = [&](const auto& s) {
      return static_cast<std::int64_t>(s.id) == request.socket_id();
    };
    const auto all = servers_->all();
    for (const auto& [id, found] : all) {
      const server_snapshot now = co_await found->snapshot(detailed(request));
      const auto c = std::find_if(now.connections.begin(), now.connections.end(), requested);
      const auto l = std::find_if(now.listeners.begin(), now.listeners.end(), requested);
      if (c != now.connections.end()) services::write(*c, to);
      else if (l != now.listeners.end()) services::write(*l, to);
      else continue;
      co_return true;
    }
    co_return false;
  }

  task<bool> find_in_channels(const wire::GetSocketRequest& request, wire::Socket& to) {
    const auto all = channels_->all();
    for (const auto& [id, channel] : all) {
      const rpc::channel_snapshot now = co_await channel->stats(detailed(request));
      for (const rpc::subchannel_snapshot& s : now.subchannels) {
        for (const connection_snapshot& c : s.connections) {
          if (static_cast<std::int64_t>(c.id) != request.socket_id()) continue;
          services::write(c, to);
          // This side began the streams, so the timestamp is that of a local stream.
          auto& data = *to.mutable_data();
          if (data.has_last_remote_stream_created_timestamp())
            data.mutable_last_local_stream_created_timestamp()->Swap(
                data.mutable_last_remote_stream_created_timestamp());
          data.clear_last_remote_stream_created_timestamp();
          co_return true;
        }
      }
    }
    co_return false;
  }

  const std::shared_ptr<server_internal::server_registry> servers_;
  const std::shared_ptr<rpc::channel_registry> channels_;
};

channelz_service::channelz_service(server& of) : implementation_(std::make_unique<implementation>(of)) {}
channelz_service::~channelz_service() = default;
channelz_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
