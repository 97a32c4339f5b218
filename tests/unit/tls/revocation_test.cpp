// Certificates that CRLs revoke (gRFC A69), in handshakes.
#include "coracle/security/auth_context.hpp"
#include "support/kept_log.hpp"
#include "support/revocations.hpp"
#include "tls/revocation_lists.hpp"
#include "tls/revocation_source.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::tls::revocation_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::certificates;
using testing_support::revocations;

constexpr const char* revoked = "a CRL of its issuer lists it as revoked";
constexpr const char* undetermined = "no CRL of its issuer tells whether it is revoked";

struct outcome {
  bool resumed = false;
  std::string client;  // why not; "ok"
  std::string server;
};

task<outcome> meet(two_sides& sides) {
  outcome o;
  auto e = connect(sides);
  e->client.send("hello");
  co_await sleep_for(1s);  // in virtual time: everything that can happen has happened
  o.client = e->client.line->end_reason();
  o.server = e->server.line->end_reason();
  if (e->server.text == "hello") {
    o.client = o.server = "ok";
    o.resumed = e->client.line->auth()->resumed();
    EXPECT_TRUE(e->server.send("welcome"));  // the tickets come with the first answer
    co_await e->client.until_size(7);
  }
  co_await e->close();
  co_return o;
}

class a_revocation : public a_secured_connection {
 public:
  a_revocation() : a_secured_connection(sim::world_options{.log = &log_}) {
    log_.set_min_level(log_level::info);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~a_revocation() override { fs::remove_all(folder_); }

 protected:
  outcome between(two_sides& sides) { return sync_wait(host_, host_.at(0), meet(sides)); }
  outcome between(const server_options& s, const client_options& c) {
    two_sides sides(s, c);
    return between(sides);
  }
  // What the client says to a server that presents this certificate.
  std::string told(const std::string& server, const std::vector<std::string>& crls, bool deny = false,
                   const std::string& ca = "ca") {
    client_options c = trusting(ca);
    c.revocation.pem = crls;
    c.revocation.deny_undetermined = deny;
    return between(served_as(server), c).client;
  }
  static client_options by_directory() {
    client_options c = trusting("ca");
    c.revocation.directory = folder_;
    return c;
  }
  static server_options for_clients() {
    server_options s = served_as("server");
    s.client_cas.push_back(pem_source::file(testing_support::certificate("ca.pem")));
    return s;
  }
  static client_options with_certificate() {
    client_options c = trusting("ca");
    c.certificate = pair_of("client");
    return c;
  }
  // As administrators should.
  static void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/.new", std::ios::binary) << text;
    fs::rename(folder_ + "/.new", folder_ + "/" + name);
  }
  void pass(duration d) {
    struct steps {
      static task<> wait(duration d) { co_await sleep_for(d); }
    };
    sync_wait(host_, host_.at(0), steps::wait(d));
  }
  static inline testing_support::kept_log log_;
  static inline const std::string folder_ = certificates::made().path("crls");
};

TEST_F(a_revocation, RejectsAServer) {
  client_options c = trusting("ca");
  c.revocation.pem = {revocations("ca").revoke("server").pem()};
  const outcome o = between(served_as("server"), c);
  EXPECT_THAT(o.client, AllOf(HasSubstr("the server's certificate is not accepted"), HasSubstr(revoked),
                              HasSubstr("CN = the server")));
  EXPECT_THAT(o.server, HasSubstr("the client reports that the server's certificate is revoked"));
  EXPECT_EQ(told("other_server", c.revocation.pem).find(revoked), std::string::npos);
}

TEST_F(a_revocation, RejectsAClient) {
  server_options s = for_clients();
  s.revocation.pem = {revocations("ca").revoke("client").pem()};
  const outcome o = between(s, with_certificate());
  EXPECT_THAT(o.server, AllOf(HasSubstr("the client's certificate is not accepted"), HasSubstr(revoked)));
  s.revocation.pem = {revocations("ca").revoke("server").pem()};
  EXPECT_EQ(between(s, with_certificate()).server, "ok");
}

TEST_F(a_revocation, OfAnIntermediateRejectsWhatIsBelowIt) {
  EXPECT_THAT(told("chain", {revocations("ca").revoke("middle").pem()}),
              AllOf(HasSubstr(revoked), HasSubstr("CN = the middle")));
  EXPECT_THAT(told("chain", {revocations("ca").pem(), revocations("middle").revoke("below").pem()}),
              AllOf(HasSubstr(revoked), HasSubstr("CN = below the middle")));
  EXPECT_EQ(told("chain", {revocations("ca").pem() + revocations("middle").pem()}, true), "ok");
}

// A chain ends with the first certificate that is trusted.
TEST_F(a_revocation, OfATrustedIntermediateIsThatOfItsTrustedRoot) {
  client_options c = trusting("ca");
  c.cas.push_back(pem_source::file(testing_support::certificate("middle.pem")));
  c.revocation.pem = {revocations("ca").revoke("middle").pem()};
  EXPECT_THAT(between(served_as("chain"), c).client, AllOf(HasSubstr(revoked), HasSubstr("CN = the middle")));
}

TEST_F(a_revocation, IsNotKnownWithoutACrlOfTheIssuer) {
  const std::vector<std::string> of_another = {revocations("other_ca").pem()};
  EXPECT_EQ(told("server", of_another), "ok");
  EXPECT_THAT(told("server", of_another, true), AllOf(HasSubstr(undetermined), HasSubstr("CN = the server")));
  EXPECT_EQ(told("server", {revocations("ca").pem()}, true), "ok");
  // Each certificate of the chain needs one.
  EXPECT_EQ(told("chain", {revocations("ca").pem()}), "ok");
  EXPECT_THAT(told("chain", {revocations("ca").pem()}, true),
              AllOf(HasSubstr(undetermined), HasSubstr("CN = below the middle")));
}

// gRFC A69: an old CRL is more secure than throwing out everything.
TEST_F(a_revocation, CountsAfterTheNextUpdateOfItsCrl) {
  EXPECT_THAT(told("server", {revocations("ca").revoke("server").expire().pem()}), HasSubstr(revoked));
  EXPECT_EQ(told("server", {revocations("ca").expire().pem()}, true), "ok");
}

TEST_F(a_revocation, CountsOnlyWithTheSignatureOfTheIssuer) {
  const std::vector<std::string> forged = {revocations("ca").revoke("server").sign_as("other_ca").pem()};
  EXPECT_EQ(told("server", forged), "ok");
  EXPECT_THAT(told("server", forged, true), HasSubstr(undetermined));
  // One that does not count hides none that does.
  EXPECT_THAT(told("server", {forged[0], revocations("ca").revoke("server").pem()}), HasSubstr(revoked));
  // A key of another algorithm, as the issuer may have had before, is no failure of this process.
  const std::vector<std::string> of_another_kind = {
      revocations("ca").revoke("server").sign_as("recipe_ca").pem()};
  EXPECT_EQ(told("server", of_another_kind), "ok");
  EXPECT_THAT(told("server", of_another_kind, true), HasSubstr(undetermined));
}

TEST_F(a_revocation, CountsOnlyIfTheKeyMaySignCrls) {
  const std::vector<std::string> without_usage = {revocations("other_ca").revoke("untrusted").pem()};
  EXPECT_EQ(told("untrusted", without_usage, false, "other_ca"), "ok");
  EXPECT_THAT(told("untrusted", without_usage, true, "other_ca"), HasSubstr(undetermined));
}

std::string bundle_key(const std::string& certificate) {
  const std::string pem = certificates::made().text(certificate + ".pem");
  std::string der = pem.substr(pem.find('\n'), pem.rfind("-----END") - pem.find('\n'));
  std::erase(der, '\n');
  return R"({"use":"x509-svid","x5c":[")" + der + R"("]})";
}

TEST_F(a_revocation, CountsForTheCasOfTrustDomains) {
  client_options c;
  c.spiffe_bundle_map = folder_ + "/bundles";
  put("bundles", R"({"trust_domains":{"example":{"keys":[)" + bundle_key("ca") + "]}}}");
  c.verify_name = false;
  c.revocation.pem = {revocations("ca").revoke("server").pem()};
  EXPECT_EQ(between(served_as("web"), c).client, "ok");
  c.revocation.pem = {revocations("ca").revoke("web").pem()};
  EXPECT_THAT(between(served_as("web"), c).client, HasSubstr(revoked));
}

TEST_F(a_revocation, OfATrustedIntermediateIsThatOfARootOfItsTrustDomain) {
  client_options c;
  c.spiffe_bundle_map = folder_ + "/bundles";
  const auto trust_example = [](const std::string& keys) {
    put("bundles", R"({"trust_domains":{"example":{"keys":[)" + keys + "]}}}");
  };
  c.verify_name = false;
  c.revocation.pem = {revocations("ca").revoke("middle").pem()};
  trust_example(bundle_key("middle"));
  EXPECT_EQ(between(served_as("web_below"), c).client, "ok") << "the root is not trusted";
  trust_example(bundle_key("middle") + "," + bundle_key("ca"));
  EXPECT_THAT(between(served_as("web_below"), c).client,
              AllOf(HasSubstr(revoked), HasSubstr("CN = the middle")));
  c.revocation.pem = {revocations("ca").pem() + revocations("middle").pem()};
  c.revocation.deny_undetermined = true;
  EXPECT_EQ(between(served_as("web_below"), c).client, "ok");
}

TEST_F(a_revocation, EndsTheSessionsOfAClientFromBefore) {
  put("ca", revocations("ca").pem());
  two_sides sides(served_as("server"), by_directory());
  EXPECT_FALSE(between(sides).resumed);
  EXPECT_TRUE(between(sides).resumed);
  pass(1h);
  EXPECT_TRUE(between(sides).resumed) << "nothing has changed";
  put("ca", revocations("ca").revoke("other_server").pem());
  pass(1h);
  EXPECT_FALSE(between(sides).resumed);
  EXPECT_TRUE(between(sides).resumed);
  put("ca", revocations("ca").revoke("server").pem());
  pass(1h);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

TEST_F(a_revocation, EndsTheSessionsOfAServerFromBefore) {
  put("ca", revocations("ca").pem());
  server_options s = for_clients();
  s.revocation.directory = folder_;
  two_sides sides(s, with_certificate());
  EXPECT_FALSE(between(sides).resumed);
  EXPECT_TRUE(between(sides).resumed);
  pass(1h);
  EXPECT_TRUE(between(sides).resumed) << "nothing has changed";
  put("ca", revocations("ca").revoke("other_server").pem());
  pass(1h);
  EXPECT_FALSE(between(sides).resumed);
  EXPECT_TRUE(between(sides).resumed);
  put("ca", revocations("ca").revoke("client").pem());
  pass(1h);
  EXPECT_THAT(between(sides).server, HasSubstr(revoked));
}

TEST_F(a_revocation, IsReadAgainFromADirectory) {
  put("first.crl", revocations("ca").der());
  client_options c = by_directory();
  two_sides sides(served_as("server"), c);
  EXPECT_EQ(between(sides).client, "ok");
  put("second", revocations("ca").revoke("server").pem());
  pass(59min);
  EXPECT_EQ(between(sides).client, "ok");
  pass(1min);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  // What is in the directory is the truth.
  fs::remove(folder_ + "/second");
  pass(1h);
  EXPECT_EQ(between(sides).client, "ok");
  EXPECT_THAT(log_.text(), HasSubstr("TLS: the CRLs were read again"));
}

TEST_F(a_revocation, IsReadAgainAtTheIntervalOfTheOptions) {
  put("a", revocations("ca").pem());
  client_options c = by_directory();
  c.revocation.interval = 1s;  // less than the minimum
  two_sides sides(served_as("server"), c);
  EXPECT_EQ(between(sides).client, "ok");
  put("a", revocations("ca").revoke("server").pem());
  pass(limits::crl_interval_min - 5s);
  EXPECT_EQ(between(sides).client, "ok");
  pass(5s);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

TEST_F(a_revocation, IsReadAgainByCall) {
  put("a", revocations("ca").pem());
  client_options c = by_directory();
  two_sides sides(served_as("server"), c);
  EXPECT_EQ(between(sides).client, "ok");
  put("a", revocations("ca").revoke("server").pem());
  EXPECT_EQ(sides.client->reload(), status());
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

TEST_F(a_revocation, IsReadAgainByAnotherRuntimeWhenTheFirstOneHasEnded) {
  put("a", revocations("ca").pem());
  two_sides sides(served_as("server"), by_directory());
  {
    sim::world first(2);
    runtime& on = first.host("host", 1);
    const auto behind = std::chrono::system_clock::now() - on.at(0).wall_now();
    first.jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
    EXPECT_EQ(sync_wait(on, on.at(0), meet(sides)).client, "ok");
  }
  EXPECT_EQ(between(sides).client, "ok");
  put("a", revocations("ca").revoke("server").pem());
  pass(1h);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

TEST_F(a_revocation, StaysWhileAFileCannotBeRead) {
  put("ca", revocations("ca").revoke("server").pem());
  client_options c = by_directory();
  std::vector<std::string> errors;
  c.revocation.on_error = [&errors](const status& s) { errors.emplace_back(s.message()); };
  two_sides sides(served_as("server"), c);
  put("ca", "half a CRL");
  put("middle", revocations("middle").pem());
  pass(1s);
  EXPECT_THAT(std::string(sides.client->reload().message()), HasSubstr("crls/ca has no CRL"));
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  // A missing file may be the one that cannot be read, unless there is another one of its issuer.
  fs::rename(folder_ + "/ca", folder_ + "/renamed");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(sides.client->reload().ok());
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  put("another", revocations("ca").pem());
  EXPECT_FALSE(sides.client->reload().ok());
  EXPECT_EQ(between(sides).client, "ok");
  EXPECT_EQ(errors.size(), 5u);  // of four calls, and with the first connection
  EXPECT_THAT(errors.back(), HasSubstr("crls/renamed has no CRL"));
}

TEST_F(a_revocation, StaysWhileItsFileCannotBeReadBesideAnotherOneOfItsIssuer) {
  put("ca", revocations("ca").revoke("server").pem());
  put("ca.bak", revocations("ca").pem());
  two_sides sides(served_as("server"), by_directory());
  put("ca", "half a CRL");
  pass(1s);
  EXPECT_FALSE(sides.client->reload().ok());
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

// The file may be read while another one writes to it: what was read then may be of neither state.
TEST_F(a_revocation, StaysWhileItsFileChangesWhileItIsRead) {
  put("ca", revocations("ca").revoke("server").pem());
  two_sides sides(served_as("server"), by_directory());
  std::string takes_a_while_to_read;
  for (int i = 0; i < 50'000; ++i) takes_a_while_to_read += std::string(63, '#') + "\n";
  takes_a_while_to_read += revocations("ca").pem();
  const std::string path = folder_ + "/ca";
  put("ca", takes_a_while_to_read);
  status outcome;
  // The writer may pause for a whole reading: the list is then the new one, and both begin again.
  for (int i = 0; i < 100 && outcome.ok(); ++i) {
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    std::thread writer([&] {
      auto time = fs::file_time_type::clock::now();
      std::error_code failed;
      for (; !ended && !failed; begun = true) fs::last_write_time(path, time += 1us, failed);
      EXPECT_FALSE(failed) << failed.message();
      begun = true;
    });
    while (!begun) std::this_thread::yield();
    outcome = sides.client->reload();
    ended = true;
    writer.join();
    if (outcome.ok()) {
      put("ca", revocations("ca").revoke("server").pem());
      EXPECT_EQ(sides.client->reload(), status());
      put("ca", takes_a_while_to_read);
    }
  }
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("crls/ca has changed while it was read"));
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  EXPECT_EQ(sides.client->reload(), status());
  EXPECT_EQ(between(sides).client, "ok");
}

// The lists may have been read long before the first connection.
TEST_F(a_revocation, IsReadAgainWithTheFirstConnection) {
  put("a", revocations("ca").pem());
  two_sides sides(served_as("server"), by_directory());
  put("a", revocations("ca").revoke("server").pem());
  static_cast<void>(between(sides));
  pass(1s);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
}

TEST_F(a_revocation, StaysWhileItsDirectoryCannotBeReadAndSaysSoOnce) {
  put("ca", revocations("ca").revoke("server").pem());
  two_sides sides(served_as("server"), by_directory());
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  fs::rename(folder_, folder_ + "_gone");
  pass(3h);
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  const std::string line =
      "TLS: CRLs were not read, and those from before stay in use: the directory of CRLs";
  const std::string text = log_.text();
  const auto first = text.find(line);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(line, first + 1), std::string::npos);
  fs::rename(folder_ + "_gone", folder_);
}

TEST_F(a_revocation, BeginsWithoutTheFilesThatCannotBeReadAndSaysSo) {
  put("bad", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n");
  put("delta", revocations("ca").extend(NID_delta_crl, "critical,DER:020101").pem());
  put("good", revocations("ca").revoke("server").pem());
  put(".hidden", "ignored");
  fs::create_directory(folder_ + "/more");
  two_sides sides(served_as("server"), by_directory());
  EXPECT_THAT(between(sides).client, HasSubstr(revoked));
  EXPECT_THAT(log_.text(), HasSubstr("some files of CRLs cannot be used: "));
  EXPECT_THAT(log_.text(), HasSubstr("crls/delta has a delta CRL, which is not supported"));
}

std::string refusal(const client_options& c) { return std::string(c.build().status().message()); }

TEST_F(a_revocation, NeedsADirectoryThatCanBeRead) {
  client_options c = by_directory();
  c.revocation.directory = "/nowhere/crls";
  EXPECT_THAT(refusal(c), HasSubstr("the directory of CRLs, /nowhere/crls, cannot be read: No such file"));
}

TEST_F(a_revocation, HasLimits) {
  client_options c = by_directory();
  for (std::size_t i = 0; i < limits::crl_files; ++i) put(std::to_string(i), "");
  std::string told;
  c.revocation.on_error = [&told](const status& s) { told = s.message(); };
  EXPECT_TRUE(c.build().ok());
  EXPECT_THAT(told, HasSubstr("has no CRL; and 1016 more")) << "one line has a few of them";
  put("one more", "");
  EXPECT_THAT(refusal(c), HasSubstr("has more than 1024 files of CRLs (tls::limits::crl_files)"));
  fs::remove_all(folder_);
  fs::create_directory(folder_);
  put("large", "");
  fs::resize_file(folder_ + "/large", limits::crl_bytes + 1);  // without blocks on the disk
  EXPECT_THAT(refusal(c), HasSubstr("have more than 67108864 bytes (tls::limits::crl_bytes)"));
  c.revocation = {};
  c.revocation.pem = {std::string(limits::crl_bytes / 2 + 1, ' '), std::string(limits::crl_bytes / 2, ' ')};
  c.revocation.pem[0] = revocations("ca").pem() + c.revocation.pem[0];
  EXPECT_THAT(refusal(c), HasSubstr("the CRLs of revocation_options::pem have more than 67108864 bytes"));
}

TEST_F(a_revocation, NeedsOptionsThatFitTogether) {
  client_options c = trusting("ca");
  c.revocation.deny_undetermined = true;
  EXPECT_THAT(refusal(c), HasSubstr("deny_undetermined denies every certificate without CRLs"));
  c.revocation.pem = {revocations("ca").pem(), "nothing"};
  EXPECT_THAT(refusal(c), HasSubstr("text 2 of revocation_options::pem has no CRL"));
  c.revocation.pem.pop_back();
  c.verify = false;
  EXPECT_THAT(refusal(c), HasSubstr("client_options::revocation has no effect without"));
  server_options s = served_as("server");
  s.revocation.pem = {revocations("ca").pem()};
  EXPECT_THAT(std::string(s.build().status().message()), HasSubstr("server_options::client_cas"));
}

std::string problem_of(const std::string& text) {
  const auto read = revocation_list::parse(text);
  return read ? "none" : std::string(read.status().message());
}

// OpenSSL would ask for the password on the terminal.
TEST(RevocationList, HasNoPassword) {
  const auto found = revocation_list::parse(
      "-----BEGIN X509 CRL-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,"
      "00112233445566778899AABBCCDDEEFF\n\nAAAA\n-----END X509 CRL-----\n");
  EXPECT_FALSE(found.ok());
}

TEST(RevocationList, IsPemOrDer) {
  testing_support::certificates::made();
  EXPECT_EQ(problem_of(revocations("ca").pem()), "none");
  EXPECT_EQ(problem_of(revocations("ca").der()), "none");
  EXPECT_EQ(problem_of("a comment\n" + revocations("ca").pem() + "more\n" + revocations("ca").pem()), "none");
  EXPECT_EQ(problem_of(""), "has no CRL");
  EXPECT_EQ(problem_of(revocations("ca").der() + "x"), "has no CRL");
  EXPECT_THAT(problem_of(testing_support::certificates::made().text("ca.pem")), HasSubstr("has no CRL"));
  EXPECT_THAT(
      problem_of(revocations("ca").pem() + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"),
      HasSubstr("has a CRL that is not valid"));
}

TEST(RevocationList, IsCompleteAndOfItsIssuer) {
  testing_support::certificates::made();
  const auto with = [](int kind, const std::string& value) {
    return problem_of(revocations("ca").extend(kind, value).pem());
  };
  EXPECT_EQ(with(NID_crl_number, "DER:020107"), "none");
  EXPECT_EQ(with(NID_delta_crl, "critical,DER:020101"), "has a delta CRL, which is not supported");
  // IssuingDistributionPoint: [4] indirectCRL, [5] onlyContainsAttributeCerts, [3] onlySomeReasons,
  // [1] onlyContainsUserCerts, [2] onlyContainsCACerts, both of these, and none.
  constexpr int point = NID_issuing_distribution_point;
  EXPECT_EQ(with(point, "critical,DER:3003840101"), "has an indirect CRL, which is not supported");
  constexpr const char* some =
      "has a CRL for attribute certificates or some reasons only, which is not supported";
  EXPECT_EQ(with(point, "critical,DER:3003850101"), some);
  EXPECT_EQ(with(point, "critical,DER:300483020560"), some);
  EXPECT_EQ(with(point, "critical,DER:3003810101"), "none");
  EXPECT_EQ(with(point, "critical,DER:3003820101"), "none");
  EXPECT_EQ(with(point, "critical,DER:3006810101820101"), "has a CRL with an invalid extension");
  EXPECT_EQ(with(point, "critical,DER:3000"), "none");
  EXPECT_EQ(with(point, "critical,DER:0500"), "has a CRL with an invalid extension");
  EXPECT_EQ(with(NID_name_constraints, "critical,DER:3000"),
            "has a CRL with a critical extension that is not supported");
}

openssl_ptr<X509> certificate_in(const std::string& file) {
  const std::string text = certificates::made().text(file);
  const openssl_ptr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return openssl_ptr<X509>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}
openssl_ptr<X509> certificate_of_ca() { return certificate_in("ca.pem"); }

// A certificate of the issuer "ca", with the point that an OpenSSL configuration describes: "URI:http://a/1".
openssl_ptr<X509> certificate_with(const std::string& point, bool is_ca = false) {
  openssl_ptr<X509> made(X509_new());
  const openssl_ptr<X509> issuer = certificate_of_ca();
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 123456);
  const auto add = [&](int kind, const std::string& value) {
    X509_EXTENSION* const one = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    ASSERT_NE(one, nullptr) << value;
    X509_add_ext(made.get(), one, -1);
    X509_EXTENSION_free(one);
  };
  add(NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!point.empty()) add(NID_crl_distribution_points, point);
  return made;
}

std::shared_ptr<const revocation_list> list_with(const std::string& part) {
  revocations of_ca("ca");
  if (!part.empty()) of_ca.extend(NID_issuing_distribution_point, part);
  return revocation_list::parse(of_ca.pem()).value().front();
}

// RFC 5280 6.3.3: it tells nothing of the others.
TEST(RevocationList, OfAPartCoversTheCertificatesOfThatPart) {
  certificates::made();
  const auto user = certificate_with("");
  const auto ca = certificate_with("", true);
  const auto at_1 = certificate_with("URI:http://a/1");
  const auto at_both = certificate_with("URI:http://a/2,URI:http://a/1");
  const auto at_2 = certificate_with("URI:http://a/2");
  const auto whole = list_with("");
  for (X509* const any : {user.get(), ca.get(), at_1.get(), at_2.get()}) EXPECT_TRUE(whole->covers(*any));
  const auto users = list_with("critical,DER:3003810101");
  EXPECT_TRUE(users->covers(*user));
  EXPECT_FALSE(users->covers(*ca));
  const auto cas = list_with("critical,DER:3003820101");
  EXPECT_FALSE(cas->covers(*user));
  EXPECT_TRUE(cas->covers(*ca));
  // distributionPoint [0], fullName [0], uniformResourceIdentifier [6]: http://a/1
  const auto first = list_with("critical,DER:3010a00ea00c860a687474703a2f2f612f31");
  EXPECT_TRUE(first->covers(*at_1));
  EXPECT_TRUE(first->covers(*at_both));
  EXPECT_FALSE(first->covers(*at_2));
  EXPECT_FALSE(first->covers(*user));
}

TEST_F(a_revocation, IsNotKnownFromAPartForOthers) {
  constexpr int point = NID_issuing_distribution_point;
  const std::string of_cas = revocations("ca").extend(point, "critical,DER:3003820101").pem();
  const std::string of_users = revocations("ca").extend(point, "critical,DER:3003810101").pem();
  EXPECT_THAT(told("server", {of_cas}, true), HasSubstr(undetermined));
  EXPECT_EQ(told("server", {of_cas}), "ok");
  EXPECT_EQ(told("server", {of_cas, of_users}, true), "ok");
  const std::string later = revocations("ca").extend(point, "critical,DER:3003810101").revoke("server").pem();
  EXPECT_THAT(told("server", {of_users, later}), HasSubstr(revoked));
}

// A handshake verifies what its chain needs, and no other list.
TEST(RevocationList, OfAnIssuerThatNoChainNamesIsNotVerified) {
  const auto read = revocation_list::parse(revocations("other_ca").pem() + revocations("ca").pem());
  const revocation_lists lists(read.value(), false);
  const openssl_ptr<STACK_OF(X509)> chain(sk_X509_new_null());
  for (const char* const file : {"server.pem", "ca.pem"})
    sk_X509_push(chain.get(), certificate_in(file).release());
  EXPECT_EQ(lists.unverified(), 2u);
  EXPECT_EQ(lists.check(*chain, nullptr).error, X509_V_OK);
  EXPECT_EQ(lists.unverified(), 1u);
}

// Handshakes do not wait for it.
TEST_F(a_revocation, IsVerifiedWhenItIsRead) {
  const openssl_ptr<STACK_OF(X509)> trusted(sk_X509_new_null());
  sk_X509_push(trusted.get(), certificate_of_ca().release());
  struct steps {
    static task<> all(const STACK_OF(X509) * trusted) {
      loop& here = *loop::current();
      revocation_options options;
      options.directory = folder_;
      put("ca.crl", revocations("ca").pem());
      const auto source = revocation_source::make(options, trusted).value();
      EXPECT_EQ(source->current(here)->unverified(), 0u);
      put("ca.crl", revocations("ca").revoke("server").pem());
      EXPECT_EQ(source->reload(), status());
      EXPECT_EQ(source->current(here)->unverified(), 0u);
      // One that another key has signed counts for nothing.
      put("ca.crl", revocations("ca").sign_as("server").pem());
      EXPECT_EQ(source->reload(), status());
      EXPECT_EQ(source->current(here)->unverified(), 1u);
      co_await sleep_for(1s);
    }
  };
  sync_wait(host_, host_.at(0), steps::all(trusted.get()));
}

}  // namespace
}  // namespace coracle::tls::revocation_test
