// TLS on networks that cut, delay, reset and drop: every call ends, and the data that arrives is correct.
#include "support/certificates.hpp"
#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace coracle::testing_support::tls_faults_test {
namespace {

using namespace std::chrono_literals;

using tally = std::map<status_code, int>;

task<> call_often(echo_stub by, security::server_security& security, tally& ends) {
  for (int i = 0; i < 30; ++i) {
    echo::Text request;
    request.set_text(std::string(static_cast<std::size_t>(i) * 1'771, static_cast<char>('a' + i % 26)));
    const auto reply = co_await by.Say(request, within(30s));
    ++ends[reply.status().code()];
    EXPECT_TRUE(!reply || reply->text() == request.text());
    EXPECT_EQ(i % 10 == 9 ? security.reload() : status(), status());
    if (!reply) co_await sleep_for(5s);  // a pause to connect anew
  }
}

// The certificates are of today; the bytes of TLS differ from run to run, so that no trace is compared.
tally play(std::uint64_t seed, const sim::faults& wrong) {
  certificates::made();
  sim::world world(seed, sim::world_options{.faults = wrong});
  runtime& serving = world.host("server", 2);
  runtime& asking = world.host("client");
  const auto behind = std::chrono::system_clock::now() - serving.at(0).wall_now();
  for (const char* host : {"server", "client"})
    world.jump_wall_clock(host, std::chrono::duration_cast<duration>(behind));
  echo_service service;
  tally ends;
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  const auto security = credentials.build().value();
  {
    server srv(serving);
    srv.add(service);
    EXPECT_EQ(srv.listen("0.0.0.0:50051", security), status());
    tls::client_options credentials_2 = trusting("ca");
    credentials_2.certificate = pair_of("client");
    credentials_2.target_name = "localhost";
    channel c(asking, world.address_of("server") + ":50051", credentials_2);
    sync_wait(asking, call_often(echo_stub(c), *security, ends));
  }
  return ends;
}

TEST(TlsOnABadNetwork, LosesNothingWhereOnlyTimeAndCutsAreWrong) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(play(seed, sim::faults::mild()), (tally{{status_code::ok, 30}})) << seed;
}

TEST(TlsOnABadNetwork, EndsEveryCall) {
  const auto wrong =
      sim::faults::mild().resets(0.01).blackholes(0.003).no_buffers(0.005).no_descriptors(0.05);
  tally all;
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (const auto& [code, n] : play(seed, wrong)) all[code] += n;
  EXPECT_GT(all[status_code::ok], 500);
  EXPECT_GT(all[status_code::unavailable], 0);
  EXPECT_GT(all[status_code::deadline_exceeded], 0);
  EXPECT_EQ(all.size(), 3U) << "nothing but an answer, a lost connection or a deadline";
}

}  // namespace
}  // namespace coracle::testing_support::tls_faults_test
