// Ports, queues, IPv6, name servers, proxies and trusted CAs.
#include "tools/doctor/machine.hpp"
#include "tools/doctor/system_files.hpp"

#include <netinet/in.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace coracle::tools::doctor {

namespace {

void check_ports(findings& to) {
  std::istringstream range(text_of("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  unsigned first = 0;
  unsigned last = 0;
  if (range >> first >> last) {
    const unsigned count = last >= first ? last - first + 1 : 0;
    to.mention(count < 10'000, "ports of clients",
               std::to_string(count) + " (" + std::to_string(first) + " to " + std::to_string(last) + ")",
               "a client has no more connections to one address: widen sysctl net.ipv4.ip_local_port_range");
  }
  if (const auto queue = number_in("/proc/sys/net/core/somaxconn"))
    to.mention(*queue < 1024, "queue of listeners", std::to_string(*queue) + " connections",
               "connections beyond are dropped while a server is busy: raise sysctl net.core.somaxconn to "
               "1024 or more");
}

void check_ipv6(findings& to) {
  const int made = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in6 own{};
  own.sin6_family = AF_INET6;
  own.sin6_addr = in6addr_loopback;
  const bool works = made >= 0 && ::bind(made, reinterpret_cast<const ::sockaddr*>(&own), sizeof own) == 0;
  const std::string reason = works ? "" : std::strerror(errno);
  if (made >= 0) ::close(made);
  to.mention(
      !works, "IPv6", works ? "works on this machine" : "does not work: " + reason,
      "servers that listen at [::] fail: listen at 0.0.0.0, or enable IPv6 (net.ipv6.conf.all.disable_ipv6)");
}

void check_names(findings& to) {
  std::ifstream in("/etc/resolv.conf");
  int servers = 0;
  for (std::string line; std::getline(in, line);) servers += line.starts_with("nameserver") ? 1 : 0;
  to.mention(servers == 0, "name servers", std::to_string(servers) + " in /etc/resolv.conf",
             "only names in /etc/hosts can be resolved");
  for (const char* const name : {"grpc_proxy", "GRPC_PROXY", "https_proxy", "HTTPS_PROXY"}) {
    const char* const set = std::getenv(name);
    // It may have a password.
    if (set && *set)
      return to.note("proxy", std::string(name) + " is set: channels connect through a proxy",
                     "no_grpc_proxy or no_proxy names servers to connect to directly");
  }
}

std::size_t certificates_in(const std::string& file) {
  const std::string text = text_of(file).value_or("");
  std::size_t n = 0;
  for (auto at = text.find("BEGIN "); at != text.npos; at = text.find("BEGIN ", at + 1)) ++n;
  return n;
}

void check_trusted_cas(findings& to) {
  const auto chosen = [](const char* variable, const char* otherwise) {
    const char* const set = std::getenv(variable);
    return std::string(set && *set ? set : otherwise);
  };
  const std::string file = chosen(X509_get_default_cert_file_env(), X509_get_default_cert_file());
  const std::string folder = chosen(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
  const std::size_t in_file = certificates_in(file);
  std::size_t in_folder = 0;
  std::error_code none;
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    ++in_folder;
  to.check(in_file == 0 && in_folder == 0, "trusted CAs",
           std::to_string(in_file) + " certificates in " + file + ", " + std::to_string(in_folder) +
               " files in " + folder,
           "no server with a public certificate can be verified: install the package ca-certificates, or set "
           "SSL_CERT_FILE");
}

}  // namespace

void check_network(findings& to) {
  check_ports(to);
  check_ipv6(to);
  check_names(to);
  check_trusted_cas(to);
}

}  // namespace coracle::tools::doctor
