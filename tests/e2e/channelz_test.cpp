#include "coracle/services/channelz_service.hpp"
#include "grpc/channelz/v1/channelz.coracle.hpp"
#include "support/echo_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coracle::testing_support::channelz_test {
namespace {

namespace wire = grpc::channelz::v1;
using channelz_stub = wire::rpc::Channelz::stub;

task<> wait_for(duration time) { co_await sleep_for(time); }

task<> hang(echo_stub s) {
  const echo::Text request = make_text("hang");
  (void)co_await s.Misbehave(request);
}

class channelz : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_.emplace(rt());
    server_->add(service_);
    with_defaults(*server_);
    link();
  }
  [[nodiscard]] channelz_stub ask() { return channelz_stub(*channel_); }
  void say(const std::string& content) { (void)sync_wait(stub().Misbehave(text(content))); }
  int top_channels() {
    const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
    EXPECT_EQ(top.status(), status());
    return top ? top->channel_size() : 0;
  }
  void pause() { sync_wait(rt(), rt().at(0), wait_for(std::chrono::milliseconds(5))); }
  std::int64_t server_id() {
    const auto all = sync_wait(ask().GetServers(wire::GetServersRequest()));
    EXPECT_EQ(all.status(), status());
    return all && all->server_size() > 0 ? all->server(0).ref().server_id() : 0;
  }
  wire::Server server_now() {
    wire::GetServerRequest request;
    request.set_server_id(server_id());
    const auto reply = sync_wait(ask().GetServer(request));
    EXPECT_EQ(reply.status(), status());
    return reply ? reply->server() : wire::Server();
  }
  std::vector<std::int64_t> sockets(std::int64_t from, std::int64_t most, bool& end) {
    wire::GetServerSocketsRequest request;
    request.set_server_id(server_id());
    request.set_start_socket_id(from);
    request.set_max_results(most);
    const auto reply = sync_wait(ask().GetServerSockets(request));
    EXPECT_EQ(reply.status(), status());
    std::vector<std::int64_t> ids;
    if (reply)
      for (const auto& ref : reply->socket_ref()) ids.push_back(ref.socket_id());
    end = reply && reply->end();
    return ids;
  }
  result<wire::GetSocketResponse> socket(std::int64_t id, bool summary = false) {
    wire::GetSocketRequest request;
    request.set_socket_id(id);
    request.set_summary(summary);
    return sync_wait(ask().GetSocket(request));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, channelz, every_world_and_link, echo_fixture::case_name);

TEST_P(channelz, AServerCountsItsCalls) {
  say("hello");
  say("status");  // NOT_FOUND
  const wire::ServerData data = server_now().data();
  EXPECT_EQ(data.calls_started(), 4);  // with the questions
  EXPECT_EQ(data.calls_succeeded(), 2);
  EXPECT_EQ(data.calls_failed(), 1);
  EXPECT_TRUE(data.has_last_call_started_timestamp());
}

TEST_P(channelz, ListsOfServersComeInPages) {
  wire::GetServersRequest request;
  const auto all = sync_wait(ask().GetServers(request));
  ASSERT_EQ(all.status(), status());
  ASSERT_EQ(all->server_size(), 1);
  EXPECT_TRUE(all->end());
  request.set_start_server_id(all->server(0).ref().server_id() + 1);
  const auto rest = sync_wait(ask().GetServers(request));
  ASSERT_EQ(rest.status(), status());
  EXPECT_EQ(rest->server_size(), 0);
  EXPECT_TRUE(rest->end());
}

TEST_P(channelz, AConnectionTellsWhatPassedThroughIt) {
  say("hello");
  bool end = false;
  const auto ids = sockets(0, 0, end);
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_TRUE(end);
  const auto found = socket(ids[0]);
  ASSERT_EQ(found.status(), status());
  const wire::Socket& s = found->socket();
  EXPECT_EQ(s.ref().socket_id(), ids[0]);
  EXPECT_EQ(s.data().streams_started(), 4);
  EXPECT_EQ(s.data().streams_succeeded(), 3);
  EXPECT_EQ(s.data().messages_received(), 4);
  EXPECT_EQ(s.data().messages_sent(), 3);
  EXPECT_GT(s.data().remote_flow_control_window().value(), 0);
  EXPECT_FALSE(s.has_security());
  switch (std::get<1>(GetParam())) {
    case link_kind::tcp:
      EXPECT_EQ(s.local().tcpip_address().port(), server_->port());
      EXPECT_EQ(s.remote().tcpip_address().ip_address(), std::string("\x7f\0\0\x01", 4));
      break;
    case link_kind::unix_socket: EXPECT_EQ(s.local().uds_address().filename().front(), '@'); break;
    case link_kind::in_process: EXPECT_EQ(s.remote().other_address().name(), "in-process"); break;
  }
}

TEST_P(channelz, SocketsComeInPagesInOrder) {
  say("hello");
  std::vector<std::unique_ptr<channel>> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(address_.empty() ? std::make_unique<channel>(rt(), server_->in_process())
                                      : std::make_unique<channel>(rt(), address_, insecure()));
    (void)sync_wait(echo_stub(*others.back()).Say(text("x")));
  }
  bool end = false;
  const auto all = sockets(0, 0, end);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(sockets(0, 2, end), std::vector<std::int64_t>(all.begin(), all.begin() + 2));
  EXPECT_FALSE(end);
  EXPECT_EQ(sockets(all[1] + 1, 3, end), std::vector<std::int64_t>(all.begin() + 2, all.end()));
  EXPECT_TRUE(end);
}

TEST_P(channelz, AListeningSocketHasAnAddressAndOptionsAlone) {
  const wire::Server server = server_now();
  if (std::get<1>(GetParam()) == link_kind::in_process) {
    EXPECT_EQ(server.listen_socket_size(), 0);
    return;
  }
  ASSERT_EQ(server.listen_socket_size(), 1);
  const auto found = socket(server.listen_socket(0).socket_id());
  ASSERT_EQ(found.status(), status());
  EXPECT_TRUE(found->socket().has_local());
  EXPECT_FALSE(found->socket().has_remote());
  EXPECT_EQ(found->socket().data().option_size() > 0, !sim_world());
  EXPECT_EQ(socket(server.listen_socket(0).socket_id(), true)->socket().data().option_size(), 0);
}

TEST_P(channelz, ChannelsOfTheRuntimeAreShownDownToTheirSockets) {
  say("hello");
  say("status");  // NOT_FOUND
  const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
  ASSERT_EQ(top.status(), status());
  ASSERT_EQ(top->channel_size(), 1);
  EXPECT_TRUE(top->end());
  const wire::Channel& shown = top->channel(0);
  EXPECT_EQ(shown.data().target(), address_.empty() ? "in-process" : address_);
  EXPECT_EQ(shown.data().state().state(), wire::ChannelConnectivityState::READY);
  EXPECT_EQ(shown.data().calls_started(), 3);
  EXPECT_EQ(shown.data().calls_succeeded(), 1);
  EXPECT_EQ(shown.data().calls_failed(), 1);

  wire::GetChannelRequest by_id;
  by_id.set_channel_id(shown.ref().channel_id());
  const auto again = sync_wait(ask().GetChannel(by_id));
  ASSERT_EQ(again.status(), status());
  ASSERT_EQ(again->channel().subchannel_ref_size(), 1);

  wire::GetSubchannelRequest below;
  below.set_subchannel_id(again->channel().subchannel_ref(0).subchannel_id());
  const auto subchannel = sync_wait(ask().GetSubchannel(below));
  ASSERT_EQ(subchannel.status(), status());
  EXPECT_EQ(subchannel->subchannel().data().state().state(), wire::ChannelConnectivityState::READY);
  EXPECT_EQ(subchannel->subchannel().data().calls_started(), 5);    // with the questions
  EXPECT_EQ(subchannel->subchannel().data().calls_succeeded(), 3);  // the last question is still open
  EXPECT_EQ(subchannel->subchannel().data().calls_failed(), 1);
  ASSERT_EQ(subchannel->subchannel().socket_ref_size(), 1);

  const auto found = socket(subchannel->subchannel().socket_ref(0).socket_id());
  ASSERT_EQ(found.status(), status());
  const wire::SocketData& data = found->socket().data();
  EXPECT_EQ(data.streams_started(), 6);    // with the questions
  EXPECT_EQ(data.streams_succeeded(), 5);  // a NOT_FOUND ends its stream normally
  EXPECT_EQ(data.messages_sent(), 6);
  EXPECT_TRUE(data.has_last_local_stream_created_timestamp());
  EXPECT_FALSE(data.has_last_remote_stream_created_timestamp());
}

TEST_P(channelz, WhatHasBecomeOfAChannelIsTraced) {
  say("hello");
  const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
  ASSERT_EQ(top.status(), status());
  const wire::ChannelTrace& whole = top->channel(0).data().trace();
  EXPECT_EQ(whole.num_events_logged(), 3);
  EXPECT_TRUE(whole.has_creation_timestamp());
  const auto id = top->channel(0).subchannel_ref(0).subchannel_id();
  std::vector<std::string> of_channel;
  for (const auto& e : whole.events()) {
    of_channel.push_back(e.description());
    EXPECT_TRUE(e.has_timestamp());
    EXPECT_EQ(e.subchannel_ref().subchannel_id(), e.description().starts_with("subchannel to ") ? id : 0);
  }
  EXPECT_THAT(of_channel, ::testing::UnorderedElementsAre("CONNECTING",
                                                          ::testing::StartsWith("subchannel to "), "READY"));

  wire::GetSubchannelRequest below;
  below.set_subchannel_id(id);
  const auto subchannel = sync_wait(ask().GetSubchannel(below));
  ASSERT_EQ(subchannel.status(), status());
  std::vector<std::string> of_subchannel;
  for (const auto& e : subchannel->subchannel().data().trace().events())
    of_subchannel.push_back(e.description());
  EXPECT_EQ(of_subchannel, (std::vector<std::string>{"CONNECTING", "connected", "READY"}));
}

TEST_P(channelz, AConnectionThatFailedIsTracedAsAWarning) {
  say("hello");
  channel nowhere(rt(), "127.0.0.1:9", insecure());
  EXPECT_EQ(sync_wait(echo_stub(nowhere).Say(text("x"))).status().code(), status_code::unavailable);
  const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
  ASSERT_EQ(top.status(), status());
  wire::GetSubchannelRequest below;
  below.set_subchannel_id(top->channel(1).subchannel_ref(0).subchannel_id());
  const auto subchannel = sync_wait(ask().GetSubchannel(below));
  ASSERT_EQ(subchannel.status(), status());
  int warnings = 0;
  for (const auto& e : subchannel->subchannel().data().trace().events()) {
    if (e.severity() != wire::ChannelTraceEvent::CT_WARNING) continue;
    if (e.description() == "TRANSIENT_FAILURE") continue;
    ++warnings;
    EXPECT_THAT(e.description(), ::testing::StartsWith("cannot connect to 127.0.0.1:9: "));
  }
  EXPECT_GE(warnings, 1);
}

TEST_P(channelz, ChannelsComeInPagesAndGoWhenTheyAreDestroyed) {
  std::vector<std::unique_ptr<channel>> others;
  for (int i = 0; i < 3; ++i) others.push_back(std::make_unique<channel>(rt(), "127.0.0.1:9", insecure()));
  wire::GetTopChannelsRequest request;
  request.set_max_results(3);
  const auto first = sync_wait(ask().GetTopChannels(request));
  ASSERT_EQ(first.status(), status());
  ASSERT_EQ(first->channel_size(), 3);
  EXPECT_FALSE(first->end());
  EXPECT_EQ(first->channel(1).data().state().state(), wire::ChannelConnectivityState::IDLE);
  request.set_start_channel_id(first->channel(2).ref().channel_id() + 1);
  const auto rest = sync_wait(ask().GetTopChannels(request));
  ASSERT_EQ(rest.status(), status());
  EXPECT_EQ(rest->channel_size(), 1);
  EXPECT_TRUE(rest->end());
  others.clear();
  EXPECT_EQ(sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()))->channel_size(), 1);
}

TEST_P(channelz, NothingIsLeftOfAClosedChannel) {
  bool end = false;
  const auto before = sockets(0, 0, end);
  std::vector<std::int64_t> channels, subchannels, its_sockets;
  for (int i = 0; i < 20; ++i) {
    auto other = address_.empty() ? std::make_unique<channel>(rt(), server_->in_process())
                                  : std::make_unique<channel>(rt(), address_, insecure());
    EXPECT_EQ(sync_wait(echo_stub(*other).Say(text("x"))).status(), status());
    const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
    ASSERT_EQ(top.status(), status());
    ASSERT_EQ(top->channel_size(), 2);
    channels.push_back(top->channel(1).ref().channel_id());
    wire::GetSubchannelRequest below;
    below.set_subchannel_id(top->channel(1).subchannel_ref(0).subchannel_id());
    subchannels.push_back(below.subchannel_id());
    const auto subchannel = sync_wait(ask().GetSubchannel(below));
    ASSERT_EQ(subchannel.status(), status());
    its_sockets.push_back(subchannel->subchannel().socket_ref(0).socket_id());
    other.reset();  // its connection ends a moment later
    for (int turn = 0; turn < 1000 && top_channels() != 1; ++turn) pause();
  }
  for (const std::int64_t id : channels) {
    wire::GetChannelRequest request;
    request.set_channel_id(id);
    EXPECT_EQ(sync_wait(ask().GetChannel(request)).status().code(), status_code::not_found);
  }
  for (const std::int64_t id : subchannels) {
    wire::GetSubchannelRequest request;
    request.set_subchannel_id(id);
    EXPECT_EQ(sync_wait(ask().GetSubchannel(request)).status().code(), status_code::not_found);
  }
  for (const std::int64_t id : its_sockets) EXPECT_EQ(socket(id).status().code(), status_code::not_found);
  // The server learns of the end a moment later.
  for (int i = 0; i < 1000 && sockets(0, 0, end).size() != before.size(); ++i) pause();
  EXPECT_EQ(sockets(0, 0, end), before);
}

TEST_P(channelz, EveryServerOfTheRuntimeIsListed) {
  std::int64_t second = 0;
  {
    server admin(rt());
    const auto all = sync_wait(ask().GetServers(wire::GetServersRequest()));
    ASSERT_EQ(all.status(), status());
    ASSERT_EQ(all->server_size(), 2);
    EXPECT_TRUE(all->end());
    second = all->server(1).ref().server_id();
    EXPECT_LT(all->server(0).ref().server_id(), second);
    wire::GetServersRequest page;
    page.set_max_results(1);
    const auto first = sync_wait(ask().GetServers(page));
    ASSERT_EQ(first.status(), status());
    EXPECT_EQ(first->server_size(), 1);
    EXPECT_FALSE(first->end());
  }
  wire::GetServerRequest gone;
  gone.set_server_id(second);
  EXPECT_EQ(sync_wait(ask().GetServer(gone)).status(), status::not_found("no such server"));
}

TEST_P(channelz, IdsAreUniqueInTheProcess) {
  say("hello");
  runtime other;
  server beside(other);
  echo_service service;
  beside.add(service);
  with_defaults(beside);
  const channel to_it(other, beside.in_process());
  std::vector<std::int64_t> ids;
  for (const channelz_stub& where : {ask(), channelz_stub(to_it)}) {
    const auto servers = sync_wait(where.GetServers(wire::GetServersRequest()));
    ASSERT_EQ(servers.status(), status());
    for (const auto& s : servers->server()) {
      ids.push_back(s.ref().server_id());
      for (const auto& l : s.listen_socket()) ids.push_back(l.socket_id());
      wire::GetServerSocketsRequest request;
      request.set_server_id(s.ref().server_id());
      const auto connections = sync_wait(where.GetServerSockets(request));
      ASSERT_EQ(connections.status(), status());
      for (const auto& c : connections->socket_ref()) ids.push_back(c.socket_id());
    }
    const auto channels = sync_wait(where.GetTopChannels(wire::GetTopChannelsRequest()));
    ASSERT_EQ(channels.status(), status());
    for (const auto& c : channels->channel()) {
      ids.push_back(c.ref().channel_id());
      for (const auto& s : c.subchannel_ref()) {
        ids.push_back(s.subchannel_id());
        wire::GetSubchannelRequest request;
        request.set_subchannel_id(s.subchannel_id());
        const auto subchannel = sync_wait(where.GetSubchannel(request));
        ASSERT_EQ(subchannel.status(), status());
        for (const auto& connection : subchannel->subchannel().socket_ref())
          ids.push_back(connection.socket_id());
      }
    }
  }
  EXPECT_GE(ids.size(), 10u);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_GT(ids.front(), 0);
}

TEST_P(channelz, ASocketTellsWhatTheKernelKnowsOfIt) {
  say("hello");
  bool end = false;
  const auto ids = sockets(0, 0, end);
  ASSERT_EQ(ids.size(), 1u);
  const auto found = socket(ids[0]);
  ASSERT_EQ(found.status(), status());
  std::map<std::string, wire::SocketOption> options;
  for (const auto& o : found->socket().data().option()) options[o.name()] = o;
  const bool kernel = !sim_world() && std::get<1>(GetParam()) != link_kind::in_process;
  EXPECT_EQ(!options.empty(), kernel);
  if (!kernel) return;
  wire::SocketOptionLinger linger;
  ASSERT_TRUE(options["SO_LINGER"].additional().UnpackTo(&linger));
  EXPECT_FALSE(linger.active());
  EXPECT_EQ(options["SO_LINGER"].value(), "off");
  wire::SocketOptionTimeout timeout;
  ASSERT_TRUE(options["SO_SNDTIMEO"].additional().UnpackTo(&timeout));
  EXPECT_EQ(timeout.duration().seconds(), 0);
  EXPECT_EQ(options["SO_RCVTIMEO"].value(), "none");
  EXPECT_GT(std::stoi(options["SO_SNDBUF"].value()), 0);
  if (std::get<1>(GetParam()) == link_kind::tcp) {
    EXPECT_EQ(options["TCP_NODELAY"].value(), "1");
    wire::SocketOptionTcpInfo info;
    ASSERT_TRUE(options["TCP_INFO"].additional().UnpackTo(&info));
    EXPECT_EQ(info.tcpi_state(), 1u);  // established
    EXPECT_GT(info.tcpi_rtt(), 0u);
    EXPECT_GT(info.tcpi_snd_cwnd(), 0u);
    EXPECT_GT(info.tcpi_reordering(), 0u);
  } else {
    EXPECT_FALSE(options.contains("TCP_INFO"));
  }
  const auto summary = socket(ids[0], true);
  ASSERT_EQ(summary.status(), status());
  EXPECT_EQ(summary->socket().data().option_size(), 0);
  EXPECT_GT(summary->socket().data().streams_started(), 0);
}

TEST_P(channelz, TheServersLimitAndItsGoawayAreShown) {
  // A server of its own answers, because one that drains does not.
  server admin(rt());
  with_defaults(admin);
  const channel to_admin(rt(), admin.in_process());
  const channelz_stub questions(to_admin);
  const auto socket_of_first_channel = [&]() -> result<wire::GetSocketResponse> {
    const auto top = sync_wait(questions.GetTopChannels(wire::GetTopChannelsRequest()));
    if (!top) return top.status();
    wire::GetSubchannelRequest below;
    below.set_subchannel_id(top->channel(0).subchannel_ref(0).subchannel_id());
    const auto subchannel = sync_wait(questions.GetSubchannel(below));
    if (!subchannel) return subchannel.status();
    if (subchannel->subchannel().socket_ref_size() == 0) return status::not_found("no socket");
    wire::GetSocketRequest request;
    request.set_socket_id(subchannel->subchannel().socket_ref(0).socket_id());
    return sync_wait(questions.GetSocket(request));
  };
  rt().spawn_on(rt().at(0), hang(stub()));
  while (service_.hung == 0) pause();
  const auto before = socket_of_first_channel();
  ASSERT_EQ(before.status(), status());
  EXPECT_EQ(before->socket().data().peer_max_concurrent_streams(), server_limits().streams);
  EXPECT_FALSE(before->socket().data().has_received_goaway_error());
  server_->stop();
  result<wire::GetSocketResponse> after = socket_of_first_channel();
  for (int i = 0; i < 1000 && after && !after->socket().data().has_received_goaway_error(); ++i) {
    pause();
    after = socket_of_first_channel();
  }
  ASSERT_EQ(after.status(), status());
  EXPECT_TRUE(after->socket().data().has_received_goaway_error());
  EXPECT_EQ(after->socket().data().received_goaway_error().value(), 0u);  // NO_ERROR
  const auto servers = sync_wait(questions.GetServers(wire::GetServersRequest()));
  ASSERT_EQ(servers.status(), status());
  std::vector<std::string> events;
  for (const auto& e : servers->server(0).data().trace().events()) events.push_back(e.description());
  const bool listened = std::get<1>(GetParam()) != link_kind::in_process;
  EXPECT_EQ(events.size(), listened ? 2u : 1u);
  if (listened) {
    EXPECT_THAT(events.front(), ::testing::StartsWith("listening on "));
  }
  EXPECT_EQ(events.back(), "draining");
  EXPECT_TRUE(servers->server(0).data().trace().has_creation_timestamp());
  channel_.reset();
}

TEST_P(channelz, AChannelWhoseCallsAllFailHasAnErrorInItsTrace) {
  channel_options options;
  options.authority = "not valid @";
  const channel bad(rt(), "127.0.0.1:9", insecure(), options);
  const auto top = sync_wait(ask().GetTopChannels(wire::GetTopChannelsRequest()));
  ASSERT_EQ(top.status(), status());
  ASSERT_EQ(top->channel_size(), 2);
  ASSERT_EQ(top->channel(1).data().trace().events_size(), 1);
  const auto& event = top->channel(1).data().trace().events(0);
  EXPECT_EQ(event.severity(), wire::ChannelTraceEvent::CT_ERROR);
  EXPECT_THAT(event.description(), ::testing::HasSubstr("is not valid in HTTP"));
  EXPECT_EQ(top->channel(1).data().max_connections_per_subchannel(), 1u);
}

TEST_P(channelz, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(socket(0).status(), status::not_found("no such socket"));
  wire::GetServerRequest server;
  server.set_server_id(-1);
  EXPECT_EQ(sync_wait(ask().GetServer(server)).status(), status::not_found("no such server"));
  wire::GetChannelRequest channel;
  channel.set_channel_id(-1);
  EXPECT_EQ(sync_wait(ask().GetChannel(channel)).status(), status::not_found("no such channel"));
  wire::GetSubchannelRequest subchannel;
  subchannel.set_subchannel_id(0);
  EXPECT_EQ(sync_wait(ask().GetSubchannel(subchannel)).status(), status::not_found("no such subchannel"));
  wire::GetServerSocketsRequest listed;
  listed.set_server_id(0);
  EXPECT_EQ(sync_wait(ask().GetServerSockets(listed)).status(), status::not_found("no such server"));
}

}  // namespace
}  // namespace coracle::testing_support::channelz_test
