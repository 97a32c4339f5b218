#include "coracle/services/channelz_service.hpp"

#include "coracle/server/server.hpp"
#include "rpc/channel_registry.hpp"
#include "services/channelz.coracle.hpp"
#include "services/channelz_messages.hpp"

#include <algorithm>
#include <cstddef>

namespace coracle {

namespace {

namespace wire = wellknown::channelz::v1;

// How many entries an answer gets: max_results of 0 leaves it to us.
std::size_t page_size(std::int64_t asked) noexcept {
  const std::int64_t most = channelz_service::page_max;
  return static_cast<std::size_t>(asked > 0 ? std::min(asked, most) : most);
}

status unknown(const char* what) { return status::not_found(std::string("no such ") + what); }

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
      const rpc::channel_snapshot now = co_await next->second->figures();
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
    const rpc::channel_snapshot now = co_await found->second->figures();
    wire::GetChannelResponse reply;
    services::write(now, *reply.mutable_channel());
    co_return reply;
  }

  reply<wire::GetSubchannelResponse> GetSubchannel(server_context&,
                                                   const wire::GetSubchannelRequest& request) override {
    const auto all = channels_->all();
    for (const auto& [id, channel] : all) {
      const rpc::channel_snapshot now = co_await channel->figures();
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
    const std::size_t shown = std::min(there, page_size(request.max_results()));
    for (std::size_t i = 0; i < shown; ++i)
      services::write_ref(from[static_cast<std::ptrdiff_t>(i)], *reply.add_socket_ref());
    reply.set_end(shown == there);
    co_return reply;
  }

  reply<wire::GetSocketResponse> GetSocket(server_context&, const wire::GetSocketRequest& request) override {
    const server_snapshot now = co_await server_.snapshot();
    wire::GetSocketResponse reply;
    const auto asked = [&](const auto& s) { return static_cast<std::int64_t>(s.id) == request.socket_id(); };
    const auto c = std::find_if(now.connections.begin(), now.connections.end(), asked);
    const auto l = std::find_if(now.listeners.begin(), now.listeners.end(), asked);
    if (c != now.connections.end()) services::write(*c, *reply.mutable_socket());
    else if (l != now.listeners.end()) services::write(*l, *reply.mutable_socket());
    else co_return co_await socket_of_a_channel(request.socket_id());
    co_return reply;
  }

 private:
  task<result<wire::GetSocketResponse>> socket_of_a_channel(std::int64_t asked) {
    const auto all = channels_->all();
    for (const auto& [id, channel] : all) {
      const rpc::channel_snapshot now = co_await channel->figures();
      for (const rpc::subchannel_snapshot& s : now.subchannels) {
        for (const connection_snapshot& c : s.connections) {
          if (static_cast<std::int64_t>(c.id) != asked) continue;
          wire::GetSocketResponse reply;
          services::write(c, *reply.mutable_socket());
          // What began here was begun by us.
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
