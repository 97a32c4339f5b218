// TXT and SRV records, from a real DNS server on 127.0.0.1.
#include "coracle/net/resolver.hpp"
#include "unit/net/dns_fixture.hpp"

#include <gmock/gmock.h>

namespace coracle::net::dns_records_test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class dns_records : public dns_fixture {
 protected:
  struct lookups {
    static task<result<std::vector<std::string>>> texts(std::string servers, std::string name) {
      resolver names(servers);
      co_return co_await names.texts(std::move(name));
    }
    static task<result<std::vector<service_record>>> services(std::string servers, std::string name) {
      resolver names(servers);
      co_return co_await names.services(std::move(name));
    }
  };
  result<std::vector<std::string>> texts(const name_server& server, std::string name) {
    return run(lookups::texts(server.where(), std::move(name)));
  }
  result<std::vector<service_record>> services(const name_server& server, std::string name) {
    return run(lookups::services(server.where(), std::move(name)));
  }
};
INSTANTIATE_TEST_SUITE_P(On, dns_records, testing_support::kernel_kinds, dns_records::case_name);

TEST_P(dns_records, TheTextsOfANameHaveTheirPartsJoined) {
  zone_entry e;
  e.txt({"one ", "text"}).txt({std::string(255, 'x'), "y"}).txt({""});
  name_server server({{"a.example", e}});
  EXPECT_THAT(texts(server, "a.example").value(),
              UnorderedElementsAre("one text", std::string(255, 'x') + "y", ""));
}

TEST_P(dns_records, TheServicesOfANameHavePlacesAndShares) {
  zone_entry e;
  e.srv(1, 10, 50051, "one.example").srv(2, 0, 50052, "two.example");
  name_server server({{"_grpc._tcp.example", e}});
  EXPECT_THAT(services(server, "_grpc._tcp.example").value(),
              UnorderedElementsAre(service_record{"one.example", 50051, 1, 10},
                                   service_record{"two.example", 50052, 2, 0}));
}

TEST_P(dns_records, ANameWithoutThemIsNotFound) {
  name_server server({{"a.example", zone_entry().a("10.0.0.1")}});
  for (const char* name : {"a.example", "b.example"}) {
    EXPECT_EQ(texts(server, name).status().code(), status_code::not_found) << name;
    EXPECT_EQ(services(server, name).status().code(), status_code::not_found) << name;
  }
}

TEST_P(dns_records, WhatIsNoRecordIsAFailure) {
  name_server server({{"a.example", zone_entry().nonsense("garbage")}, {"b.example", zone_entry().code(2)}});
  for (const char* name : {"a.example", "b.example"})
    EXPECT_EQ(texts(server, name).status().code(), status_code::unavailable) << name;
  EXPECT_EQ(texts(server, "no name").status().code(), status_code::invalid_argument);
}

}  // namespace
}  // namespace coracle::net::dns_records_test
