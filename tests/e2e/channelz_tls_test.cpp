// The channelz data of a secured connection.
#include "grpc/channelz/v1/channelz.coracle.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"

#include "coracle/services/defaults.hpp"

#include <gmock/gmock.h>

#include <string>

namespace coracle::testing_support::channelz_tls_test {
namespace {

namespace wire = grpc::channelz::v1;

TEST(ChannelzOfTls, ShowsTheCipherAndTheCertificatesOfBothSides) {
  runtime rt(1);
  echo_service service;
  server s(rt);
  s.add(service);
  with_defaults(s);
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  ASSERT_EQ(s.listen("127.0.0.1:0", credentials), status());
  tls::client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  channel c(rt, "127.0.0.1:" + std::to_string(s.port()), credentials_2);
  const wire::rpc::Channelz::stub ask(c);
  const auto servers = sync_wait(ask.GetServers(wire::GetServersRequest()));
  ASSERT_EQ(servers.status(), status());
  wire::GetServerSocketsRequest all;
  all.set_server_id(servers->server(0).ref().server_id());
  const auto sockets = sync_wait(ask.GetServerSockets(all));
  ASSERT_EQ(sockets.status(), status());
  ASSERT_EQ(sockets->socket_ref_size(), 1);
  wire::GetSocketRequest one;
  one.set_socket_id(sockets->socket_ref(0).socket_id());
  const auto found = sync_wait(ask.GetSocket(one));
  ASSERT_EQ(found.status(), status());
  const auto& tls = found->socket().security().tls();
  EXPECT_THAT(tls.standard_name(), ::testing::StartsWith("TLS_"));
  // DER: a sequence, whose length has two bytes, with the subject in it.
  EXPECT_THAT(tls.remote_certificate(), ::testing::StartsWith("\x30\x82"));
  EXPECT_THAT(tls.remote_certificate(), ::testing::HasSubstr("ada.example"));
  EXPECT_THAT(tls.local_certificate(), ::testing::StartsWith("\x30\x82"));
  EXPECT_NE(tls.local_certificate(), tls.remote_certificate());
  // The client's side of the same connection has the same two, exchanged.
  const auto channels = sync_wait(ask.GetTopChannels(wire::GetTopChannelsRequest()));
  ASSERT_EQ(channels.status(), status());
  wire::GetSubchannelRequest below;
  below.set_subchannel_id(channels->channel(0).subchannel_ref(0).subchannel_id());
  const auto subchannel = sync_wait(ask.GetSubchannel(below));
  ASSERT_EQ(subchannel.status(), status());
  one.set_socket_id(subchannel->subchannel().socket_ref(0).socket_id());
  const auto other_side = sync_wait(ask.GetSocket(one));
  ASSERT_EQ(other_side.status(), status());
  EXPECT_EQ(other_side->socket().security().tls().local_certificate(), tls.remote_certificate());
  EXPECT_EQ(other_side->socket().security().tls().remote_certificate(), tls.local_certificate());
}

}  // namespace
}  // namespace coracle::testing_support::channelz_tls_test
