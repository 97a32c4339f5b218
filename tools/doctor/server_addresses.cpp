// The name of a server, and whether each of its addresses accepts connections.
#include "tools/doctor/probe.hpp"
#include "tools/doctor/server.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace coracle::tools::doctor {

namespace {

constexpr std::size_t addresses_max = 8;  // of those of a name; further ones are counted
constexpr std::uint16_t usual_port = 443;

std::string ms_text(duration d) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(d).count();
  std::string text = std::to_string(static_cast<double>(us) / 1000);
  return text.substr(0, text.find('.') + 2) + " ms";
}

template <class F>
duration time_of(F f) {
  const auto began = std::chrono::steady_clock::now();
  f();
  return std::chrono::steady_clock::now() - began;
}

struct host_and_port {
  std::string host;
  std::uint16_t port = usual_port;
};

// Of "name", "name:port", "[::1]:port", with dns:///, ipv4: or ipv6: before it.
host_and_port parts_of(std::string text) {
  for (const std::string_view scheme :
       {"dns:///", "dns:", "ipv4:", "ipv6:", "passthrough:///", "passthrough:"})
    if (text.starts_with(scheme)) {
      text.erase(0, scheme.size());
      break;
    }
  host_and_port parts{text};
  const auto colon = text.rfind(':');
  const bool has_port =
      colon != text.npos && (text.find(':') == colon || (colon > 0 && text[colon - 1] == ']'));
  if (has_port) {
    parts.host = text.substr(0, colon);
    parts.port = static_cast<std::uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
  }
  if (parts.host.starts_with('[') && parts.host.ends_with(']'))
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  return parts;
}

result<std::vector<net::address>> resolved(const host_and_port& name) {
  runtime on(1);
  struct program {
    static task<result<std::vector<net::address>>> resolve(std::string host, std::uint16_t port) {
      net::resolver by;
      auto found = co_await by.resolve(std::move(host), port);
      co_return found;
    }
  };
  return sync_wait(on, program::resolve(name.host, name.port));
}

}  // namespace

server_name check_addresses(findings& to, const endpoint& where) {
  server_name server;
  std::vector<net::address> all;
  const std::string text = where.address();
  if (text.starts_with("unix:") || text.starts_with("unix-abstract:")) {
    auto one = net::address::parse(text);
    if (!one.ok()) return to.problem("address", one.status().to_string(), "write unix:/path"), server;
    all.push_back(*one);
    server.host = "localhost";
  } else {
    const host_and_port name = parts_of(text);
    server.host = name.host;
    std::optional<result<std::vector<net::address>>> answer;
    const duration took = time_of([&] { answer = resolved(name); });
    if (!answer->ok()) {
      to.problem("name", std::string(answer->status().message()),
                 "check the spelling, /etc/hosts and the name servers of /etc/resolv.conf");
      return server;
    }
    all = **answer;
    std::string found =
        std::to_string(all.size()) + (all.size() == 1 ? " address" : " addresses") + " in " + ms_text(took);
    to.mention(took > std::chrono::seconds(1), "name", name.host + " has " + found,
               "name servers answer slowly: look at those of /etc/resolv.conf in turn");
  }
  if (all.size() > addresses_max) {
    to.note("addresses", "of " + std::to_string(all.size()) + " addresses, " + std::to_string(addresses_max) +
                             " are checked");
    all.erase(all.begin() + addresses_max, all.end());
  }
  for (const net::address& one : all) {
    std::string error;
    const duration took = time_of([&] { error = probe(one).error(); });
    if (error.empty()) {
      if (!server.reached) server.reached = one;
      to.ok("connect", one.to_string() + " accepts connections, in " + ms_text(took));
    } else if (all.size() == 1) {
      to.problem("connect", one.to_string() + ": " + error,
                 "is the server running, at this port, and does a firewall let clients through?");
    } else {
      to.note("connect", one.to_string() + ": " + error,
              "clients try the other addresses after 250 ms; remove addresses at which nothing listens");
    }
  }
  if (!server.reached && all.size() > 1)
    to.problem("connect", "no address accepts connections",
               "is the server running, at this port, and does a firewall let clients through?");
  return server;
}

}  // namespace coracle::tools::doctor
