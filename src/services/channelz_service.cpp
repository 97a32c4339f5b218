#include "coracle/services/channelz_service.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "rpc/channel_registry.hpp"
#include "services/channelz.coracle.hpp"
#include "wellknown/channelz.pb.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::services {

// The id of the one server that a channelz service reports.
inline constexpr std::int64_t server_id = 1;

// Fill the protobuf messages from snapshots; a `ref` is an id and a name.
void write(const server_snapshot& from, wellknown::channelz::v1::Server& to);
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

void write(const auth_context& from, wire::Security& to) {
  if (from.type() != "tls") {
    to.mutable_other()->set_name(std::string(from.type()));
    return;
  }
  // OpenSSL has names of its own for cipher suites before TLS 1.3.
  const std::string cipher(from.cipher());
  if (cipher.starts_with("TLS_")) to.mutable_tls()->set_standard_name(cipher);
  else to.mutable_tls()->set_other_name(cipher);
  to.mutable_tls()->set_remote_certificate(first_certificate(from.peer_certificates_pem()));
}

void write(const rpc::event_trace& from, wire::ChannelTrace& to) {
  to.set_num_events_logged(number(from.added()));
  write_time(from.made(), [&] { return to.mutable_creation_timestamp(); });
  for (const rpc::traced_event& e : from.latest()) {
    wire::ChannelTraceEvent& event = *to.add_events();
    event.set_description(e.description);
    event.set_severity(e.level == rpc::traced_event::severity::info ? wire::ChannelTraceEvent::CT_INFO
                                                                    : wire::ChannelTraceEvent::CT_WARNING);
    write_time(e.time, [&] { return event.mutable_timestamp(); });
    if (e.subchannel != 0) event.mutable_subchannel_ref()->set_subchannel_id(number(e.subchannel));
  }
}

}  // namespace

void write(const server_snapshot& from, wire::Server& to) {
  to.mutable_ref()->set_server_id(server_id);
  auto& data = *to.mutable_data();
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
  if (from.auth) write(*from.auth, *to.mutable_security());
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
}

void write(const listener_snapshot& from, wire::Socket& to) {
  to.mutable_ref()->set_socket_id(number(from.id));
  to.mutable_ref()->set_name(from.local.to_string());
  write(from.local, *to.mutable_local());
  to.mutable_data();
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

status unknown(const char* resource) { return status::not_found(std::string("no such ") + resource); }

}  // namespace

class channelz_service::implementation final : public wire::rpc::Channelz::service {
 public:
  explicit implementation(server& of) : server_(of), channels_(rpc::channel_registry::of(of.owner())) {}

  reply<wire::GetTopChannelsResponse> GetTopChannels(server_context&,
                                                     const wire::GetTopChannelsRequest& request) override {
    const auto all = channels_->all();
    const std::size_t most = page_size(request.max_results());
    wire::GetTopChannelsResponse reply;
    auto next =
        all.lower_bound(static_cast<std::uint64_t>(std::max<std::int64_t>(request.start_channel_id(), 0)));
    for (std::size_t n = 0; n < most && next != all.end(); ++n, ++next) {
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
    wire::GetServersResponse reply;
    reply.set_end(true);
    if (request.start_server_id() <= services::server_id) {
      const server_snapshot now = co_await server_.snapshot();
      services::write(now, *reply.add_server());
    }
    co_return reply;
  }

  reply<wire::GetServerResponse> GetServer(server_context&, const wire::GetServerRequest& request) override {
    if (request.server_id() != services::server_id) co_return unknown("server");
    const server_snapshot now = co_await server_.snapshot();
    wire::GetServerResponse reply;
    services::write(now, *reply.mutable_server());
    co_return reply;
  }

  reply<wire::GetServerSocketsResponse> GetServerSockets(
      server_context&, const wire::GetServerSocketsRequest& request) override {
    if (request.server_id() != services::server_id) co_return unknown("server");
    const server_snapshot now = co_await server_.snapshot();
    wire::GetServerSocketsResponse reply;
    const auto from = std::lower_bound(
        now.connections.begin(), now.connections.end(), request.start_socket_id(),
        [](const connection_snapshot& c, std::int64_t id) { return static_cast<std::int64_t>(c.id) < id; });
    const auto there = static_cast<std::size_t>(now.connections.end() - from);
    const std::size_t listed = std::min(there, page_size(request.max_results()));
    for (std::size_t i = 0; i < listed; ++i)
      services::write_ref(from[static_cast<std::ptrdiff_t>(i)], *reply.add_socket_ref());
    reply.set_end(listed == there);
    co_return reply;
  }

  reply<wire::GetSocketResponse> GetSocket(server_context&, const wire::GetSocketRequest& request) override {
    const server_snapshot now = co_await server_.snapshot();
    wire::GetSocketResponse reply;
    const auto requested = [&](const auto& s) {
      return static_cast<std::int64_t>(s.id) == request.socket_id();
    };
    const auto c = std::find_if(now.connections.begin(), now.connections.end(), requested);
    const auto l = std::find_if(now.listeners.begin(), now.listeners.end(), requested);
    if (c != now.connections.end()) services::write(*c, *reply.mutable_socket());
    else if (l != now.listeners.end()) services::write(*l, *reply.mutable_socket());
    else co_return co_await socket_of_a_channel(request.socket_id());
    co_return reply;
  }

 private:
  task<result<wire::GetSocketResponse>> socket_of_a_channel(std::int64_t requested) {
    const auto all = channels_->all();
    for (const auto& [id, channel] : all) {
      const rpc::channel_snapshot now = co_await channel->stats();
      for (const rpc::subchannel_snapshot& s : now.subchannels) {
        for (const connection_snapshot& c : s.connections) {
          if (static_cast<std::int64_t>(c.id) != requested) continue;
          wire::GetSocketResponse reply;
          services::write(c, *reply.mutable_socket());
          // This side began the streams, so the timestamp is that of a local stream.
          auto& data = *reply.mutable_socket()->mutable_data();
          if (data.has_last_remote_stream_created_timestamp())
            data.mutable_last_local_stream_created_timestamp()->Swap(
                data.mutable_last_remote_stream_created_timestamp());
          data.clear_last_remote_stream_created_timestamp();
          co_return reply;
        }
      }
    }
    co_return unknown("socket");
  }

  server& server_;
  const std::shared_ptr<rpc::channel_registry> channels_;
};

channelz_service::channelz_service(server& of) : implementation_(std::make_unique<implementation>(of)) {}
channelz_service::~channelz_service() = default;
channelz_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
