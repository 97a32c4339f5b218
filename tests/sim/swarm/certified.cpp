#include "sim/swarm/certified.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Those of authorities are below.
constexpr std::uint32_t first_of_hosts = 1000;

std::string new_folder() {
  std::string name = (fs::temp_directory_path() / "coracle-swarm-XXXXXX").string();
  return ::mkdtemp(name.data());
}

template <class Security>
std::shared_ptr<Security> remember(run& r, const result<std::shared_ptr<Security>>& built,
                                   std::vector<std::weak_ptr<Security>>& in) {
  if (!built) r.report_error("certificates are not taken: " + built.status().to_string());
  if (!built) return nullptr;
  in.push_back(*built);
  return *built;
}

// 0: not one of our certificates.
std::uint32_t number_of_client(const auth_context& client) {
  constexpr std::string_view head = "client-";
  for (const peer_identity& i : client.identities())
    if (i.type() == peer_identity::kind::dns_name && i.value().starts_with(head))
      return static_cast<std::uint32_t>(std::strtoul(i.value().c_str() + head.size(), nullptr, 10));
  return 0;
}

}  // namespace

certified::certified(run& r, const mixture& m)
    : run_(r),
      draws_(r.dice_for(3)),
      mutual_(draws_.one_in(2)),
      by_call_(draws_.one_in(2)),
      halves_(!m.crashes),
      renewals_(draws_.below(20)),
      folder_(new_folder()) {
  issue_anew();
  write("ca.pem", authority_.certificate());
  write_chains();
  write_keys();
}

certified::~certified() { fs::remove_all(folder_); }

std::shared_ptr<security::server_security> certified::serve() {
  tls::server_options o;
  o.certificates.push_back(tls::key_pair::files(path("server.pem"), path("server.key")));
  if (mutual_) o.client_cas.push_back(tls::pem_source::file(path("ca.pem")));
  return remember(run_, o.build(), servers_);
}

std::shared_ptr<security::client_security> certified::call() {
  tls::client_options o;
  o.cas.push_back(tls::pem_source::file(path("ca.pem")));
  if (mutual_) o.certificate = tls::key_pair::files(path("client.pem"), path("client.key"));
  return last_client_ = remember(run_, o.build(), clients_);
}

task<> certified::renew_often() {
  while (renewals_ > 0) {
    co_await sleep_for(draws_.up_to(3s));  // sleeps on purpose: virtual time
    --renewals_;
    issue_anew();
    write_chains();
    if (halves_ && draws_.one_in(2)) {
      run_.tally("renewed by halves");
      if (by_call_) reload(false);
      co_await sleep_for(draws_.up_to(3s));  // sleeps on purpose: virtual time
    }
    write_keys();
    if (by_call_) reload(true);
    run_.tally("renewed");
  }
}

void certified::replace_all() {
  authority_ = authority(++authorities_);
  issue_anew();
  write("ca.pem", authority_.certificate());
  write_chains();
  write_keys();
  if (by_call_) reload(true);
}

void certified::look_at(const server_context& context, bool newest) {
  const auth_context* const peer_identity = context.auth();
  if (!peer_identity || peer_identity->type() != "tls") return run_.report_error("a call came in plaintext");
  if (peer_identity->resumed()) run_.tally("resumed");
  if (!mutual_) return;
  const std::uint32_t number = number_of_client(*peer_identity);
  if (!peer_identity->peer_verified() || number == 0 || number > number_)
    run_.report_error("a call is of a client that nobody knows");
  if (newest && number != number_) run_.report_error("a client proves itself with what is in force no more");
}

void certified::issue_anew() {
  ++number_;
  const std::string tail = "-" + std::to_string(number_) + ".example";
  const std::uint32_t serial = first_of_hosts + 2 * number_;
  server_ = authority_.issue(serial, "IP:10.0.0.1,IP:10.0.0.2,DNS:server" + tail);
  client_ = authority_.issue(serial + 1, "DNS:client" + tail);
}

void certified::write_chains() {
  write("server.pem", server_.chain);
  write("client.pem", client_.chain);
}

void certified::write_keys() {
  write("server.key", server_.key);
  write("client.key", client_.key);
}

// Immediately, and never with the size of the previous one: neither the clock of the real machine nor its
// inode numbers decide whether a change is detected.
void certified::write(const std::string& name, const std::string& text) {
  std::ofstream(path("new"), std::ios::binary) << std::string(number_, '#') << '\n' << text;
  fs::rename(path("new"), path(name));
}

void certified::reload(bool whole) {
  const auto each = [this](const auto& all, bool expected) {
    for (const auto& one : all) {
      const auto living = one.lock();
      if (living && living->reload().ok() != expected)
        run_.report_error(expected ? "new certificates are not taken"
                                   : "a chain is taken with another's key");
    }
  };
  each(servers_, whole);
  each(clients_, whole || !mutual_);
}

}  // namespace coracle::swarm
