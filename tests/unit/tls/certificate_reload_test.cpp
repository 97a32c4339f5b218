// Certificates that change while a server listens.
#include "coracle/security/auth_context.hpp"
#include "support/kept_log.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace coracle::tls::certificate_reload_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_support::certificates;

// A directory with the files of a server, whose certificate changes.
class changing_files {
 public:
  explicit changing_files(const std::string& name) : folder_(certificates::made().path("changing")) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    copy_over(name, name);
  }
  // Two writes, as administrators make them.
  void copy_over(const std::string& chain, const std::string& key) {
    fs::copy_file(certificates::made().path(chain + ".pem"), chain_path(),
                  fs::copy_options::overwrite_existing);
    fs::copy_file(certificates::made().path(key + ".key"), key_path(), fs::copy_options::overwrite_existing);
  }
  void rename_over(const std::string& name) {
    fs::copy_file(certificates::made().path(name + ".pem"), folder_ + "/new");
    fs::rename(folder_ + "/new", chain_path());
    fs::copy_file(certificates::made().path(name + ".key"), folder_ + "/new");
    fs::rename(folder_ + "/new", key_path());
  }
  // As Kubernetes does it: the files are links through a link to a directory, which is replaced as a whole.
  void swap_links(const std::string& name) {
    const std::string there = folder_ + "/of_" + name;
    fs::create_directory(there);
    fs::copy_file(certificates::made().path(name + ".pem"), there + "/chain");
    fs::copy_file(certificates::made().path(name + ".key"), there + "/key");
    fs::create_symlink("of_" + name, folder_ + "/data_new");
    fs::rename(folder_ + "/data_new", folder_ + "/data");
    for (const char* file : {"chain", "key"}) {
      if (fs::is_symlink(folder_ + "/" + file)) continue;
      fs::remove(folder_ + "/" + file);
      fs::create_symlink(std::string("data/") + file, folder_ + "/" + file);
    }
  }
  [[nodiscard]] std::string chain_path() const { return folder_ + "/chain"; }
  [[nodiscard]] std::string key_path() const { return folder_ + "/key"; }

 private:
  std::string folder_;
};

// Returns the CN that the server presents to the next connection.
task<std::string> shown(two_sides& sides) {
  auto e = connect(sides);
  e->client.send("hello");
  co_await e->server.until_size(5);
  const std::string name = e->client.line->auth()->identities().back().value();
  co_await e->close();
  co_return name;
}

class a_reload : public a_secured_connection {
 protected:
  a_reload() : a_secured_connection(sim::world_options{.log = &log}) { log.set_min_level(log_level::info); }
  static inline testing_support::kept_log log;
};

two_sides with(const changing_files& files) {
  server_options credentials;
  credentials.certificates.push_back(key_pair::files(files.chain_path(), files.key_path()));
  client_options credentials_2 = trusting("ca");
  credentials_2.cas.push_back(pem_source::file(testing_support::certificate("other_ca.pem")));
  credentials_2.target_name = "localhost";
  return {credentials, credentials_2};
}

task<> files_change() {
  changing_files files("server");
  two_sides sides = with(files);
  EXPECT_EQ(co_await shown(sides), "the server");
  files.copy_over("untrusted", "untrusted");
  EXPECT_EQ(co_await shown(sides), "the server") << "files are looked at once a second";
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "a server");
  files.rename_over("below");
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(sides.server->reload(), status());
  files.swap_links("untrusted");
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "a server");
  files.swap_links("server");
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "the server");
}
TEST_F(a_reload, FollowsFilesThatAreWrittenRenamedAndLinked) { run(files_change); }

task<> by_call() {
  changing_files files("server");
  two_sides sides = with(files);
  files.copy_over("untrusted", "untrusted");
  EXPECT_EQ(sides.server->reload(), status());
  EXPECT_EQ(co_await shown(sides), "a server");
}
TEST_F(a_reload, ComesByCall) { run(by_call); }

task<> bad_files() {
  changing_files files("server");
  two_sides sides = with(files);
  EXPECT_EQ(co_await shown(sides), "the server");
  files.copy_over("untrusted", "server");  // not yet the key
  EXPECT_THAT(std::string(sides.server->reload().message()),
              HasSubstr("does not belong to the first certificate"));
  EXPECT_EQ(co_await shown(sides), "the server");
  std::ofstream(files.key_path()) << "half a key";
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "the server");
  fs::remove(files.chain_path());
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "the server");
  files.copy_over("untrusted", "untrusted");
  co_await sleep_for(limits::file_check_interval);
  EXPECT_EQ(co_await shown(sides), "a server");
}
TEST_F(a_reload, OfBadFilesKeepsTheOldOnesAndSaysSo) {
  run(bad_files);
  EXPECT_THAT(
      log.text(),
      HasSubstr("TLS: the certificates were not reloaded, and the previous ones stay in use: the key file"));
  EXPECT_THAT(log.text(), HasSubstr("TLS: the certificates were not reloaded, and the previous ones stay in "
                                    "use: cannot read the certificate file"));
  EXPECT_THAT(log.text(), HasSubstr("TLS: the certificates were reloaded"));
}

// The files are checked when a connection arrives, where nothing may be thrown.
task<> passphrase_throws() {
  changing_files files("server");
  auto vault_is_open = std::make_shared<bool>(true);
  auto asked = std::make_shared<int>(0);
  key_pair pair = key_pair::files(files.chain_path(), files.key_path());
  pair.passphrase([vault_is_open, asked] {
    ++*asked;
    return *vault_is_open ? std::string("sesame") : throw std::runtime_error("the vault is closed");
  });
  fs::copy_file(certificates::made().path("protected.key"), files.key_path(),
                fs::copy_options::overwrite_existing);
  server_options credentials;
  credentials.certificates.push_back(pair);
  client_options credentials_2 = trusting("ca");
  credentials_2.target_name = "localhost";
  two_sides sides(credentials, credentials_2);
  EXPECT_EQ(co_await shown(sides), "the server");
  const int at_first = *asked;
  *vault_is_open = false;
  co_await sleep_for(limits::file_check_interval);
  fs::last_write_time(files.key_path(), fs::file_time_type::clock::now() + 1h);
  EXPECT_EQ(co_await shown(sides), "the server");
  const int in_vain = *asked;
  EXPECT_GT(in_vain, at_first);
  *vault_is_open = true;
  for (int look = 0; look < 2; ++look) {
    co_await sleep_for(limits::file_check_interval);
    EXPECT_EQ(co_await shown(sides), "the server");
    EXPECT_EQ(*asked, in_vain + 1) << "once more at the next look, and then no more";
  }
}
TEST_F(a_reload, WhosePassphraseThrowsKeepsTheOldOnesAndIsAskedAgain) {
  run(passphrase_throws);
  EXPECT_THAT(log.text(), HasSubstr("passphrase() threw \"the vault is closed\""));
}

// A client that was accepted because of a CA that is no longer trusted does not resume its session with its
// ticket.
task<> ca_changes() {
  const std::string ca = certificates::made().path("changing_ca");
  fs::copy_file(certificates::made().path("ca.pem"), ca, fs::copy_options::overwrite_existing);
  server_options credentials = served_as("server");
  credentials.client_cas.push_back(pem_source::file(ca));
  client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  two_sides sides(credentials, credentials_2);
  for (const bool resumed : {false, true}) {
    auto e = connect(sides);
    e->client.send("hello");
    co_await e->server.until_size(5);
    EXPECT_EQ(e->server.line->auth()->resumed(), resumed);
    EXPECT_TRUE(e->server.send("welcome"));
    co_await e->client.until_size(7);
    co_await e->close();
  }
  fs::copy_file(certificates::made().path("other_ca.pem"), ca, fs::copy_options::overwrite_existing);
  EXPECT_EQ(sides.server->reload(), status());
  auto e = connect(sides);
  e->client.send("hello");
  co_await e->server.until_end();
  EXPECT_THAT(std::string(e->server.line->end_reason()), HasSubstr("it is not issued by a trusted CA"));
  co_await e->close();
}
TEST_F(a_reload, ForgetsTheSessionsOfEarlierCertificates) { run(ca_changes); }

}  // namespace
}  // namespace coracle::tls::certificate_reload_test
