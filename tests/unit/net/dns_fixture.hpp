// Shared by the tests of dns_source: name servers, and a count of the descriptors that remain open.
#pragma once

#include "coracle/coro/when_all.hpp"
#include "net/dns/dns_source.hpp"
#include "support/every_backend.hpp"
#include "unit/net/name_server.hpp"

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::net {

using answer = result<std::vector<address>>;

inline address at(std::string_view text) { return address::parse(text).value(); }

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class dns_fixture : public testing_support::every_backend {
 protected:
  static dns_settings asking(const name_server& server) {
    dns_settings s;
    s.servers = server.where();
    return s;
  }
  struct programs {
    static task<answer> one(dns_settings settings, std::string name) {
      dns_source names(*loop::current(), std::move(settings));
      co_return co_await names.resolve_name(std::move(name), 80);
    }
    static task<std::vector<answer>> many(dns_settings settings, std::string before, int count) {
      dns_source names(*loop::current(), std::move(settings));
      std::vector<task<answer>> all;
      for (int i = 0; i < count; ++i)
        all.push_back(names.resolve_name(before + std::to_string(i) + ".example", 80));
      co_return co_await when_all(std::move(all));
    }
  };
  answer ask(const dns_settings& settings, std::string name) {
    return run(programs::one(settings, std::move(name)));
  }
};

}  // namespace coracle::net
