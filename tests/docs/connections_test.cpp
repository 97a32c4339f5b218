// The code of docs/guides/channels.md, operations.md and security.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"

#include <chrono>
// --8<-- [end:includes]
#include "coracle/client/connector.hpp"
#include "coracle/net/connect.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/server.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace connections_page {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]

// Nothing listens, and no file is there: options are looked at, not what they lead to.

// --8<-- [start:tls_server]
coracle::status listen_securely(coracle::server& server) {
  coracle::tls::server_options credentials;
  using coracle::tls::key_pair;
  credentials.certificates = {key_pair::files("server.pem", "server.key"),
                              key_pair::files("other.pem", "other.key")};  // chosen by SNI
  credentials.client_cas = {coracle::tls::pem_source::file("clients.pem")};  // mTLS
  return server.listen("127.0.0.1:0", credentials);
}
// --8<-- [end:tls_server]

// --8<-- [start:tls_reload]
coracle::status listen_and_reload(coracle::server& server) {
  coracle::tls::server_options credentials;
  credentials.certificates = {coracle::tls::key_pair::files("server.pem", "server.key")};
  const auto security = credentials.build();
  if (!security) return security.status();
  const auto bound = server.listen("127.0.0.1:0", *security);
  return bound.ok() ? (*security)->reload() : bound;  // reload() from any thread
}
// --8<-- [end:tls_reload]

// --8<-- [start:revocation]
coracle::tls::client_options by_crls(std::string directory) {
  coracle::tls::client_options credentials;
  credentials.revocation.directory = std::move(directory);
  credentials.revocation.deny_undetermined = true;  // without a CRL: reject
  return credentials;
}
// --8<-- [end:revocation]

class guarded final : public movie::rpc::MovieService::service {
  // --8<-- [start:peer]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie&) override {
    const coracle::auth_context* const client = context.auth();  // null in plaintext
    if (!client || !client->has_identity(coracle::peer_identity::kind::uri, "spiffe://example/ada"))
      co_return coracle::status::permission_denied("not for you");
    co_return movie::AddMovieResponse();
  }
  // --8<-- [end:peer]
};

// --8<-- [start:pinned]
// Trusts the keys of known servers, whatever authority has issued their certificates.
coracle::tls::client_options pinned(std::vector<std::string> pins) {
  coracle::tls::client_options credentials;
  credentials.verify = false;
  credentials.verifier = [pins](const coracle::tls::peer_certificate& server) -> coracle::status {
    for (const std::string& pin : pins)
      if (server.spki_sha256() == pin) return coracle::ok;
    return coracle::status::permission_denied("the key " + server.spki_sha256() + " is not pinned");
  };
  return credentials;
}
// --8<-- [end:pinned]

// --8<-- [start:spiffe]
coracle::tls::server_options only_for(std::string spiffe_id) {
  coracle::tls::server_options credentials;
  credentials.certificates = {coracle::tls::key_pair::files("server.pem", "server.key")};
  credentials.client_cas = {coracle::tls::pem_source::file("clients.pem")};
  credentials.verifier = [spiffe_id](const coracle::tls::peer_certificate& client) -> coracle::status {
    if (client.has_identity(coracle::peer_identity::kind::uri, spiffe_id)) return coracle::ok;
    return coracle::status::permission_denied("it is not " + spiffe_id);
  };
  return credentials;
}
// --8<-- [end:spiffe]

// --8<-- [start:token_of_a_call]
coracle::task<coracle::status> add(movies_stub movies, movie::Movie movie) {
  coracle::call_options with_token = coracle::within(1s);
  with_token.credentials = coracle::call_credentials::bearer("of this call");
  const auto reply = co_await movies.AddMovie(movie, with_token);
  co_return reply.status();
}
// --8<-- [end:token_of_a_call]

// --8<-- [start:connector]
// Sends the first line of HAProxy's PROXY protocol before HTTP/2 begins.
class behind_a_proxy final : public coracle::connector {
 public:
  explicit behind_a_proxy(std::uint16_t port) : port_(port) {}

  coracle::task<coracle::result<std::unique_ptr<coracle::net::byte_stream>>> connect() override {
    coracle::result<coracle::net::stream> made = co_await coracle::net::connect("localhost", port_);
    if (!made) co_return made.status();
    const std::string first_line = "PROXY UNKNOWN\r\n";
    const coracle::status sent = co_await made->write(coracle::as_bytes(first_line));
    if (!sent.ok()) co_return sent;
    co_return coracle::net::to_byte_stream(*std::move(made));
  }
  std::string authority() const override { return "movies.example:443"; }  // also the name that TLS verifies

 private:
  const std::uint16_t port_;
};
// --8<-- [end:connector]

coracle::task<std::string> first_bytes(coracle::net::listener& at, std::size_t n) {
  coracle::result<coracle::net::stream> client = co_await at.accept();
  std::string text(n, '\0');
  for (std::size_t got = 0; client && got < n;) {
    const coracle::mutable_bytes room(reinterpret_cast<std::uint8_t*>(text.data()) + got, n - got);
    const auto more = co_await client->read(room);
    if (!more || *more == 0) break;
    got += *more;
  }
  co_return text;
}

coracle::task<std::string> what_comes_first(coracle::runtime& runtime) {
  coracle::net::listener at = *coracle::net::listener::open(coracle::net::address::loopback_v4(0));
  const std::uint16_t port = at.local_address().port();
  // --8<-- [start:channel_by_connector]
  coracle::channel movies(runtime, std::make_shared<behind_a_proxy>(port), coracle::insecure());
  // --8<-- [end:channel_by_connector]
  movies.connect();
  std::string text = co_await first_bytes(at, 18);
  co_await at.close();
  co_return text;
}

TEST(GuideToChannels, AConnectorSpeaksFirst) {
  coracle::runtime runtime;
  EXPECT_EQ(coracle::sync_wait(runtime, what_comes_first(runtime)), "PROXY UNKNOWN\r\nPRI");
}

// --8<-- [start:by_descriptor]
// Uses one connection that the program has made; when it has ended, calls fail.
class by_descriptor final : public coracle::connector {
 public:
  explicit by_descriptor(int socket) : socket_(socket) {}
  coracle::task<coracle::result<std::unique_ptr<coracle::net::byte_stream>>> connect() override {
    auto adopted = coracle::net::stream::adopt(std::exchange(socket_, -1));
    if (!adopted) co_return adopted.status();
    co_return coracle::net::to_byte_stream(*std::move(adopted));
  }
  std::string authority() const override { return "localhost"; }

 private:
  int socket_;
};
// --8<-- [end:by_descriptor]

class refusing final : public movie::rpc::MovieService::service {};

TEST(GuideToChannels, AProgramMakesTheConnection) {
  coracle::runtime runtime;
  refusing service;
  coracle::server server(runtime);
  server.add(service);
  // --8<-- [start:adopt]
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category());
  const coracle::status serves = server.adopt(ends[0], coracle::insecure());
  coracle::channel movies(runtime, std::make_shared<by_descriptor>(ends[1]), coracle::insecure());
  // --8<-- [end:adopt]
  EXPECT_EQ(serves, coracle::ok);
  const auto added = coracle::sync_wait(movies_stub(movies).AddMovie(movie::Movie()));
  EXPECT_EQ(added.status().code(), coracle::status_code::unimplemented);
}

// --8<-- [start:shutdown]
coracle::task<> end(coracle::channel movies) {
  coracle::task<> calls_have_ended = movies.shutdown();  // later calls fail with UNAVAILABLE
  const coracle::status in_time = co_await coracle::with_timeout(10s, std::move(calls_have_ended));
  if (!in_time.ok()) movies.close();  // ends the calls with UNAVAILABLE
}
// --8<-- [end:shutdown]

TEST(GuideToChannels, AProgramMayEndOneForAllItsHandles) {
  coracle::runtime runtime;
  const coracle::channel movies(runtime, "127.0.0.1:1", coracle::insecure());
  const movies_stub stub(movies);
  coracle::sync_wait(runtime, end(movies));
  EXPECT_EQ(coracle::sync_wait(stub.AddMovie(movie::Movie())).status(),
            coracle::status::unavailable("the channel was closed"));
}

TEST(GuideToChannels, OptionsAreSaidInARow) {
  coracle::runtime runtime;
  // --8<-- [start:channel]
  coracle::channel_options options;
  options.balance = coracle::balancing::round_robin();
  options.calls = coracle::within(2s).add_metadata("x-team", "ada");
  options.keepalive = {.time = 30s};
  coracle::channel movies(runtime, "dns:///movies.example:50051", coracle::insecure(), options);
  // --8<-- [end:channel]
  EXPECT_EQ(movies.state(), coracle::connectivity::idle);  // no connection is made before the first call
}

TEST(GuideToOperations, LimitsAreSaidInARow) {
  // --8<-- [start:limits]
  coracle::server_options options;
  // Below the container's limit, with room for what handlers allocate.
  options.memory = coracle::memory_quota(256u << 20);
  options.limits = {.calls = 2'000, .call_time = 30s};
  options.max_connection_age = {.max = 30min, .grace = 1min};
  coracle::server server(options);
  // --8<-- [end:limits]
  guarded service;
  server.add(service);
  EXPECT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
}

TEST(GuideToSecurity, NothingSecretTravelsInPlaintext) {
  guarded service;
  coracle::runtime runtime;
  coracle::server server(runtime);
  server.add(service);
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  coracle::channel channel(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  const movie::Movie movie;
  EXPECT_EQ(coracle::sync_wait(runtime, add(movies_stub(channel), movie)).code(),
            coracle::status_code::unauthenticated);
  EXPECT_EQ(coracle::sync_wait(movies_stub(channel).AddMovie(movie)).status(),
            coracle::status::permission_denied("not for you"));
}

TEST(GuideToSecurity, FilesThatAreNotThereAreTheStatusOfListen) {
  guarded service;
  coracle::server server;
  server.add(service);
  EXPECT_EQ(listen_securely(server).code(), coracle::status_code::failed_precondition);
  EXPECT_EQ(listen_and_reload(server).code(), coracle::status_code::failed_precondition);
  EXPECT_EQ(by_crls("/nowhere/crls").build().status().code(), coracle::status_code::failed_precondition);
  EXPECT_EQ(server.listen("127.0.0.1:0", only_for("spiffe://example/ada")).code(),
            coracle::status_code::failed_precondition);
}

TEST(GuideToSecurity, PinsAreOptionsThatAreMadeOnce) {
  const coracle::tls::client_options one = pinned({"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="});
  EXPECT_EQ(one, coracle::tls::client_options(one));
  EXPECT_FALSE(one == pinned({"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="}));
  EXPECT_EQ(one.build().status(), coracle::status());
}

TEST(GuideToSecurity, ClientsTrustCAsAndBearTokens) {
  coracle::runtime runtime;
  // --8<-- [start:tls_client]
  coracle::channel system_cas(runtime, "movies.example:443", coracle::tls::client_options());
  coracle::tls::client_options credentials;
  credentials.cas = {coracle::tls::pem_source::file("ca.pem")};  // in place of the system's
  credentials.certificate = coracle::tls::key_pair::files("client.pem", "client.key");  // mTLS
  coracle::channel own_ca(runtime, "localhost:50051", credentials);
  // --8<-- [end:tls_client]
  // --8<-- [start:token_of_a_channel]
  coracle::channel_options options;
  options.calls.credentials = coracle::call_credentials::bearer("of every call");
  coracle::channel bearing(runtime, "movies.example:443", coracle::tls::client_options(), options);
  // --8<-- [end:token_of_a_channel]
  EXPECT_EQ(system_cas.state(), coracle::connectivity::idle);
  EXPECT_EQ(bearing.state(), coracle::connectivity::idle);
  const movie::Movie movie;
  EXPECT_EQ(coracle::sync_wait(movies_stub(own_ca).AddMovie(movie)).status().code(),
            coracle::status_code::unavailable);  // there is no ca.pem
}

}  // namespace
}  // namespace connections_page
