// c-ares on a loop, against a real DNS server on 127.0.0.1.
#include "net/dns/dns_source.hpp"

#include "coracle/net/resolver.hpp"
#include "net/dns/dns_channel.hpp"
#include "unit/net/dns_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace coracle::net::dns_source_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class Dns : public dns_fixture {};
INSTANTIATE_TEST_SUITE_P(On, Dns, testing_support::kernel_kinds, Dns::case_name);

TEST_P(Dns, BothFamiliesAreAskedFor) {
  const name_server server({{"both.example", zone_entry().a("127.0.0.1").a("127.0.0.2").aaaa("::1")},
                            {"four.example", zone_entry().a("127.0.0.4")},
                            {"six.example", zone_entry().aaaa("::1")}});
  EXPECT_THAT(ask(asking(server), "both.example").value(),
              UnorderedElementsAre(at("127.0.0.1:80"), at("127.0.0.2:80"), at("[::1]:80")));
  EXPECT_THAT(ask(asking(server), "four.example").value(), ElementsAre(at("127.0.0.4:80")));
  EXPECT_THAT(ask(asking(server), "six.example").value(), ElementsAre(at("[::1]:80")));
  EXPECT_EQ(server.datagrams(), 6);
}

TEST_P(Dns, AChainOfAliasesIsFollowed) {
  const name_server server({{"a.example", zone_entry().alias("b.example")},
                            {"b.example", zone_entry().alias("c.example")},
                            {"c.example", zone_entry().a("127.0.0.3").aaaa("::1")}});
  EXPECT_THAT(ask(asking(server), "a.example").value(), SizeIs(2));
}

TEST_P(Dns, ANameThatDoesNotExistIsNotFound) {
  const name_server server({{"empty.example", zone_entry()}});
  EXPECT_EQ(ask(asking(server), "no.example").status(),
            status::not_found("no.example: the host name does not exist"));
  EXPECT_EQ(ask(asking(server), "empty.example").status(),
            status::not_found("empty.example: the host name exists but has no address"));
}

TEST_P(Dns, ServersThatFailMakeItUnavailable) {
  const name_server server(
      {{"servfail.example", zone_entry().code(2)}, {"refused.example", zone_entry().code(5)}});
  dns_settings settings = asking(server);
  settings.tries = 1;
  for (const char* name : {"servfail.example", "refused.example"}) {
    EXPECT_EQ(ask(settings, name).status(),
              status::unavailable(std::string(name) + ": no name server responded"));
  }
}

TEST_P(Dns, SilenceMakesItUnavailableAfterSomeTries) {
  const name_server server({{"silent.example", zone_entry().silence()}});
  dns_settings settings = asking(server);
  settings.timeout_ms = 20;
  settings.tries = 2;
  EXPECT_EQ(ask(settings, "silent.example").status().code(), status_code::unavailable);
  EXPECT_EQ(server.datagrams(), 4);
}

TEST_P(Dns, AServerThatNobodyIsAtMakesItUnavailable) {
  dns_settings settings;
  {
    const name_server gone({});
    settings.servers = gone.where();
  }
  settings.timeout_ms = 20;
  settings.tries = 2;
  EXPECT_EQ(ask(settings, "any.example").status().code(), status_code::unavailable);
}

TEST_P(Dns, ATruncatedAnswerIsFetchedOverTcp) {
  zone_entry large = zone_entry().truncated();
  for (int i = 1; i <= 60; ++i) large.a("127.0.1." + std::to_string(i));
  const name_server server({{"large.example", large}});
  EXPECT_THAT(ask(asking(server), "large.example").value(), SizeIs(60));
  EXPECT_GE(server.connections(), 1);
}

TEST_P(Dns, AnswersBeyondTheLimitAreDropped) {
  zone_entry large = zone_entry().truncated();
  for (int i = 1; i <= 200; ++i) large.a("127.0.1." + std::to_string(i));
  const name_server server({{"huge.example", large}});
  EXPECT_THAT(ask(asking(server), "huge.example").value(), SizeIs(resolver::answers_max));
}

TEST_P(Dns, NonsenseIsUnavailableAndHarmless) {
  std::string loop("\xc0\x0c", 2);  // a name that points to the question, then nothing
  std::string self("\xc0\x1d\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1", 16);
  std::string short_data("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\x40\x7f\0\0\1", 16);  // claims 64 bytes and has 4
  std::string odd_size("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\3\x7f\0\0", 15);        // an IPv4 address of 3 bytes
  const name_server server({{"one.example", zone_entry().nonsense(loop)},
                            {"two.example", zone_entry().nonsense(self)},
                            {"three.example", zone_entry().nonsense(short_data)},
                            {"four.example", zone_entry().nonsense(odd_size)}});
  dns_settings settings = asking(server);
  settings.timeout_ms = 20;
  settings.tries = 1;
  for (const char* name : {"one.example", "two.example", "three.example", "four.example"}) {
    const answer a = ask(settings, name);
    EXPECT_FALSE(a.ok()) << name;
    EXPECT_THAT(a.status().code(), testing::AnyOf(status_code::unavailable, status_code::not_found))
        << a.status();
  }
}

TEST_P(Dns, ManyNamesAtATimeShareOneChannel) {
  name_zone::entries zone;
  for (int i = 0; i < 500; ++i) {
    const std::string ip = "127.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    zone["n" + std::to_string(i) + ".example"].a(ip);
  }
  const std::size_t before = open_descriptors();
  const name_server server(std::move(zone));
  dns_settings settings = asking(server);
  settings.timeout_ms = 1000;  // a datagram may be lost where memory for sockets is scarce
  const std::vector<answer> all = run(programs::many(settings, "n", 500));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(all[static_cast<std::size_t>(i)].ok()) << all[static_cast<std::size_t>(i)].status();
    EXPECT_EQ(all[static_cast<std::size_t>(i)]->front().ip_bytes()[3], i % 250 + 1);
  }
  EXPECT_EQ(open_descriptors(), before + 3) << "those of the server";
}

// A lookup over a channel of its own, made after all others: once it is answered, the server has received
// everything that they sent.
task<answer> release_after_all(dns_settings settings, name_server& server, int& seen) {
  dns_source names(*loop::current(), std::move(settings));
  answer last = co_await names.resolve_name("last.example", 80);
  seen = server.datagrams();
  server.release();
  co_return last;
}

task<std::vector<answer>> many_and_a_last(dns_settings settings, int count, name_server& server, int& seen) {
  dns_source names(*loop::current(), settings);
  std::vector<task<answer>> all;
  for (int i = 0; i < count; ++i) all.push_back(names.resolve_name("h" + std::to_string(i) + ".example", 80));
  all.push_back(release_after_all(settings, server, seen));
  co_return co_await when_all(std::move(all));
}

TEST_P(Dns, OnlySoManyAreInFlight) {
  constexpr int in_flight_max = static_cast<int>(dns_channel::concurrent_max);
  constexpr int total = in_flight_max + 50;
  name_zone::entries zone{{"last.example", zone_entry().a("127.0.0.2")}};
  for (int i = 0; i < total; ++i) zone["h" + std::to_string(i) + ".example"].a("127.0.0.1").held();
  name_server server(std::move(zone));
  int seen = 0;
  for (const answer& a : run(many_and_a_last(asking(server), total, server, seen)))
    EXPECT_TRUE(a.ok()) << a.status();
  EXPECT_EQ(seen, 2 * (in_flight_max + 1)) << "two datagrams a name, for both families";
  EXPECT_GE(server.datagrams(), 2 * (total + 1));
}

// A file that is removed at the end of the test.
class scratch_file {
 public:
  explicit scratch_file(std::string_view text)
      : path_(std::filesystem::temp_directory_path() / ("coracle-dns-" + std::to_string(::getpid()))) {
    std::ofstream(path_) << text;
  }
  ~scratch_file() { std::filesystem::remove(path_); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_P(Dns, TheHostsFileGoesBeforeTheServers) {
  const scratch_file hosts("127.0.0.7 box.example box\n::1 box.example\n127.0.0.7 box.example\n");
  const name_server server(
      {{"box.example", zone_entry().a("127.0.0.9")}, {"other.example", zone_entry().a("127.0.0.9")}});
  dns_settings settings = asking(server);
  settings.hosts_from_environment = true;
  ::setenv("CARES_HOSTS", hosts.path().c_str(), 1);
  const answer box = ask(settings, "box.example");
  const answer other = ask(settings, "other.example");
  ::unsetenv("CARES_HOSTS");
  EXPECT_THAT(box.value(), UnorderedElementsAre(at("127.0.0.7:80"), at("[::1]:80")));
  EXPECT_THAT(other.value(), ElementsAre(at("127.0.0.9:80")));
  EXPECT_EQ(server.datagrams(), 2);
}

TEST_P(Dns, TheSearchListOfTheConfigurationIsTried) {
  const scratch_file configuration("search one.example two.example\noptions ndots:1\n");
  const name_server server({{"short.two.example", zone_entry().a("127.0.0.2")}});
  dns_settings settings = asking(server);
  settings.resolv_conf = configuration.path();
  EXPECT_THAT(ask(settings, "short").value(), ElementsAre(at("127.0.0.2:80")));
  EXPECT_EQ(ask(settings, "short.").status().code(), status_code::not_found) << "a final dot means: as it is";
}

}  // namespace
}  // namespace coracle::net::dns_source_test
