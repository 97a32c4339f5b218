// channelz_messages: snapshots as channelz spells them.
#pragma once

#include "coracle/server/server_snapshot.hpp"
#include "rpc/channel_registry.hpp"
#include "wellknown/channelz.pb.h"

namespace coracle::services {

// The one server that a channelz service shows.
inline constexpr std::int64_t server_id = 1;

// The same thing twice: `ref` is a number and a name.
void write(const server_snapshot& from, wellknown::channelz::v1::Server& to);
void write(const connection_snapshot& from, wellknown::channelz::v1::Socket& to);
void write(const listener_snapshot& from, wellknown::channelz::v1::Socket& to);
void write(const rpc::channel_snapshot& from, wellknown::channelz::v1::Channel& to);
void write(const rpc::subchannel_snapshot& from, wellknown::channelz::v1::Subchannel& to);
void write_ref(const connection_snapshot& from, wellknown::channelz::v1::SocketRef& to);

}  // namespace coracle::services
