// The certificates of credentials, as operators see them: what they are, for whom, and how their files were
// reloaded.
#include "coracle/runtime/runtime.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace coracle::tls::certificate_listing_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using security::certificates_in_use;
using security::listed_certificate;
using security::trusted_cas;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::certificate;
using testing_support::certificates;

// What the openssl program prints: another implementation of nearly everything that is listed.
std::string printed(const std::string& arguments) {
  const std::string command = "openssl x509 -noout " + arguments;
  std::FILE* const from = ::popen(command.c_str(), "r");
  if (!from) return {};
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), from)) text.append(part.data(), n);
  EXPECT_EQ(::pclose(from), 0) << command;
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find('=') + 1);
}
std::string printed(const std::string& option, const std::string& path) {
  return printed(option + " -in '" + path + "'");
}
// Without the characters that openssl puts between digits.
std::string lower(std::string hex) {
  std::erase(hex, ':');
  for (char& c : hex)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return hex;
}
// As openssl prints dates with -dateopt iso_8601: 2026-11-28 20:11:02Z.
std::string date_text(std::chrono::system_clock::time_point t) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &utc)};
}

class a_listing : public a_secured_connection {
 protected:
  template <class Options>
  certificates_in_use of(const Options& o) {
    const auto made = o.build().value();
    certificates_in_use found;
    sync_wait(host_, host_.at(0), list(*made, found));
    return found;
  }

 private:
  template <class Security>
  static task<> list(Security& s, certificates_in_use& to) {
    to = s.certificates(*loop::current());
    co_return;
  }
};

TEST_F(a_listing, SaysWhatOpensslSaysOfTheCertificate) {
  const std::string path = certificate("server.pem");
  const certificates_in_use all = of(served_as("server"));
  ASSERT_EQ(all.certificates.size(), 1U);
  const listed_certificate& c = all.certificates[0];
  EXPECT_EQ(c.subject, printed("-subject -nameopt RFC2253", path));
  EXPECT_EQ(c.subject, "CN=the server");
  EXPECT_EQ(c.issuer, printed("-issuer -nameopt RFC2253", path));
  EXPECT_EQ(c.serial, lower(printed("-serial", path)));
  EXPECT_EQ(c.sha256, lower(printed("-fingerprint -sha256", path)));
  EXPECT_EQ(date_text(c.not_before), printed("-startdate -dateopt iso_8601", path));
  EXPECT_EQ(date_text(c.not_after), printed("-enddate -dateopt iso_8601", path));
  EXPECT_EQ(c.key_type, "EC prime256v1");
  EXPECT_EQ(c.file, path);
  EXPECT_EQ(c.chain_size, 1U);
  EXPECT_EQ(c.chain_not_after, c.not_after);
  std::vector<std::string> names;
  for (const peer_identity& one : c.names) names.push_back(one.value());
  EXPECT_THAT(names, ElementsAre("localhost", "movies.example", "127.0.0.1", "::1"));
  EXPECT_EQ(all.trusted, trusted_cas::none);
  EXPECT_TRUE(all.reload_error.ok());
  EXPECT_GT(all.loaded.time_since_epoch(), 0s);
}

TEST_F(a_listing, SaysForWhichNamesAServerPresentsEachCertificate) {
  server_options o = served_as("server");
  o.certificates.push_back(pair_of("other_server"));
  o.certificates.push_back(pair_of("untrusted"));  // for localhost, which the first one has
  o.certificates.push_back(pair_of("recipe"));  // a CN alone, which is localhost
  const certificates_in_use all = of(o);
  ASSERT_EQ(all.certificates.size(), 4U);
  EXPECT_THAT(all.certificates[0].server_names, ElementsAre("localhost", "movies.example"));
  EXPECT_TRUE(all.certificates[0].is_default);
  EXPECT_THAT(all.certificates[1].server_names, ElementsAre("other.example", "*.wild.example"));
  EXPECT_FALSE(all.certificates[1].is_default);
  EXPECT_THAT(all.certificates[2].server_names, IsEmpty());
  EXPECT_THAT(all.certificates[3].server_names, IsEmpty());
  EXPECT_EQ(all.certificates[3].key_type, "RSA 2048");
}

TEST_F(a_listing, HasTheEndOfAChainWhichMayComeBeforeThatOfItsCertificate) {
  const certificates_in_use all = of(served_as("chain"));
  ASSERT_EQ(all.certificates.size(), 1U);
  const listed_certificate& c = all.certificates[0];
  EXPECT_EQ(c.chain_size, 2U);
  EXPECT_EQ(c.subject, "CN=below the middle");
  // The file begins with the certificate, and the expired one is its only "intermediate".
  const std::string mixed = certificates::made().path("mixed.pem");
  std::ofstream(mixed) << certificates::made().text("server.pem") << certificates::made().text("expired.pem");
  server_options o;
  o.certificates.push_back(key_pair::files(mixed, certificate("server.key")));
  const certificates_in_use half = of(o);
  ASSERT_EQ(half.certificates.size(), 1U);
  EXPECT_EQ(date_text(half.certificates[0].chain_not_after), "2020-01-02 00:00:00Z");
  EXPECT_GT(half.certificates[0].not_after, half.certificates[0].chain_not_after);
}

TEST_F(a_listing, CountsTheTrustedCasAndHasTheFirstEnd) {
  server_options o = served_as("server");
  o.client_cas = {pem_source::file(certificate("ca.pem")), pem_source::file(certificate("expired.pem"))};
  const certificates_in_use server = of(o);
  EXPECT_EQ(server.trusted, trusted_cas::program);
  EXPECT_EQ(server.trusted_count, 2U);
  EXPECT_EQ(date_text(server.trusted_not_after), "2020-01-02 00:00:00Z");
  client_options c = trusting("ca");
  c.certificate = pair_of("client");
  const certificates_in_use client = of(c);
  EXPECT_EQ(client.trusted, trusted_cas::program);
  EXPECT_EQ(client.trusted_count, 1U);
  ASSERT_EQ(client.certificates.size(), 1U);
  EXPECT_EQ(client.certificates[0].subject, "CN=ada");
  EXPECT_THAT(client.certificates[0].server_names, IsEmpty());
  EXPECT_EQ(of(client_options()).trusted, trusted_cas::system);
  client_options unverified;
  unverified.verify = false;
  EXPECT_EQ(of(unverified).trusted, trusted_cas::none);
}

TEST_F(a_listing, HasNoFileOfACertificateThatWasPassedAsText) {
  server_options o;
  o.certificates.push_back(
      key_pair::pem(certificates::made().text("server.pem"), certificates::made().text("server.key")));
  const certificates_in_use all = of(o);
  ASSERT_EQ(all.certificates.size(), 1U);
  EXPECT_EQ(all.certificates[0].file, "");
}

// A server whose files change, without a connection that would notice.
class changing_server {
 public:
  changing_server() {
    copy("server", "server");
    server_options o;
    o.certificates.push_back(key_pair::files(chain_, key_));
    security_ = o.build().value();
  }
  void copy(const std::string& chain, const std::string& key) const {
    fs::copy_file(certificate(chain + ".pem"), chain_, fs::copy_options::overwrite_existing);
    fs::copy_file(certificate(key + ".key"), key_, fs::copy_options::overwrite_existing);
  }
  task<certificates_in_use> list_later() {
    co_await sleep_for(limits::file_check_interval);
    co_return security_->certificates(*loop::current());
  }
  [[nodiscard]] security::server_security& security() const { return *security_; }

 private:
  const std::string chain_ = certificates::made().path("listed_chain");
  const std::string key_ = certificates::made().path("listed_key");
  std::shared_ptr<security::server_security> security_;
};

task<> new_files_are_noticed() {
  changing_server one;
  const certificates_in_use before = co_await one.list_later();
  EXPECT_EQ(before.certificates.at(0).subject, "CN=the server");
  one.copy("untrusted", "untrusted");
  const certificates_in_use after = co_await one.list_later();
  EXPECT_EQ(after.certificates.at(0).subject, "CN=a server");
  EXPECT_EQ(after.loaded, loop::current()->wall_now());
  EXPECT_TRUE(after.reload_error.ok());
}
TEST_F(a_listing, NoticesNewFilesWithoutAConnection) { run(new_files_are_noticed); }

task<> broken_files_are_shown() {
  changing_server one;
  const certificates_in_use before = co_await one.list_later();
  one.copy("untrusted", "server");  // not its key
  const certificates_in_use broken = co_await one.list_later();
  EXPECT_EQ(broken.certificates.at(0).subject, "CN=the server");
  EXPECT_EQ(broken.loaded, before.loaded);
  EXPECT_THAT(std::string(broken.reload_error.message()),
              HasSubstr("does not belong to the first certificate"));
  EXPECT_EQ(broken.reload_failed, loop::current()->wall_now());
  one.copy("untrusted", "untrusted");
  const certificates_in_use repaired = co_await one.list_later();
  EXPECT_EQ(repaired.certificates.at(0).subject, "CN=a server");
  EXPECT_TRUE(repaired.reload_error.ok());
}
TEST_F(a_listing, OfBrokenFilesKeepsTheOldCertificateAndHasTheError) { run(broken_files_are_shown); }

task<> old_files_return() {
  changing_server one;
  const std::string chain = certificates::made().path("listed_chain");
  fs::rename(chain, chain + ".old");
  const certificates_in_use broken = co_await one.list_later();
  EXPECT_THAT(std::string(broken.reload_error.message()), HasSubstr("cannot read the certificate file"));
  fs::rename(chain + ".old", chain);
  const certificates_in_use again = co_await one.list_later();
  EXPECT_TRUE(again.reload_error.ok()) << again.reload_error.message();
}
TEST_F(a_listing, HasNoErrorOnceTheFilesAreThoseInUseAgain) { run(old_files_return); }

}  // namespace
}  // namespace coracle::tls::certificate_listing_test
