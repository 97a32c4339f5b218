#include "naming/etcd_names.hpp"
#include "naming/attributes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::naming::etcd_names_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> addresses_of(const etcd_names& of) {
  std::vector<std::string> found;
  for (const client::endpoint& e : of.servers().servers) found.push_back(e.address().to_string());
  return found;
}

std::string written(const char* address) {
  return write_etcd_value(client::endpoint(net::address::parse(address).value()));
}

TEST(EtcdNames, AreReadAsThePackageForGoWritesThem) {
  etcd_names names("films/movies");
  EXPECT_TRUE(names.put({"films/movies/a", R"({"Op":0,"Addr":"10.0.0.1:1","Metadata":null})"}).ok());
  EXPECT_TRUE(
      names.put({"films/movies/b", R"({"Addr":"[::1]:2","Metadata":{"Weight":[1,2]},"More":true})"}).ok());
  EXPECT_TRUE(names.put({"films/movies/c/d", R"({"Op":1,"Addr":"10.0.0.3:1","Metadata":"x"})"}).ok());
  EXPECT_TRUE(names.put({"films/movies2/e", R"({"Op":0,"Addr":"10.0.0.4:1"})"}).ok());
  EXPECT_THAT(addresses_of(names), ElementsAre("10.0.0.1:1", "[::1]:2"));
  EXPECT_EQ(names.invalid(), "");
  names.remove("films/movies/a");
  EXPECT_THAT(addresses_of(names), ElementsAre("[::1]:2"));
  names.clear();
  EXPECT_THAT(addresses_of(names), IsEmpty());
}

TEST(EtcdNames, WhatIsWrittenIsRead) {
  etcd_names names("movies");
  EXPECT_EQ(written("10.0.0.1:1"), R"({"Op":0,"Addr":"10.0.0.1:1","Metadata":null})");
  EXPECT_TRUE(names.put({"movies/x", written("unix:/run/\"x\"")}).ok());
  EXPECT_THAT(addresses_of(names), ElementsAre("unix:/run/\"x\""));
}

TEST(EtcdNames, MetadataHasTheWeightAndTheAttributes) {
  etcd_names names("movies");
  client::endpoint server(net::address::parse("10.0.0.1:1").value(), 7);
  server.attribute("zone", "a \"b\"").attribute("version", "2");
  const std::string value = write_etcd_value(server);
  EXPECT_THAT(value, HasSubstr(R"("Metadata":{"weight":7,"version":"2","zone":"a \"b\""})"));
  EXPECT_TRUE(names.put({"movies/a", value}).ok());
  EXPECT_THAT(names.servers().servers, ElementsAre(server));
  EXPECT_TRUE(
      names
          .put({"movies/a", R"({"Addr":"10.0.0.1:1","Metadata":{"weight":-1,"n":2,"yes":true,"list":[],
                                        "long":")" +
                                std::string(attribute_bytes_max, 'x') + R"("}})"})
          .ok());
  const client::endpoint read = names.servers().servers.at(0);
  EXPECT_EQ(read.weight(), 1u);
  EXPECT_THAT(read.attributes(), ElementsAre(testing::Pair("n", "2"), testing::Pair("yes", "true")));
  std::string many = R"({"Addr":"10.0.0.1:1","Metadata":{"0":1)";
  for (std::size_t i = 1; i <= attributes_max; ++i) many += ",\"" + std::to_string(i) + "\":1";
  EXPECT_TRUE(names.put({"movies/a", many + "}}"}).ok());
  EXPECT_EQ(names.servers().servers.at(0).attributes().size(), attributes_max);
}

class InvalidEtcdValue : public testing::TestWithParam<std::string> {};

TEST_P(InvalidEtcdValue, IsPassedOver) {
  etcd_names names("movies");
  EXPECT_TRUE(names.put({"movies/bad\n", GetParam()}).ok());
  EXPECT_TRUE(names.put({"movies/good", written("10.0.0.1:1")}).ok());
  EXPECT_THAT(addresses_of(names), ElementsAre("10.0.0.1:1"));
  EXPECT_THAT(names.invalid(), HasSubstr("movies/bad?: "));
  EXPECT_LT(names.invalid().size(), 300u);
  EXPECT_TRUE(names.put({"movies/bad\n", written("10.0.0.2:1")}).ok());
  EXPECT_EQ(names.invalid(), "");
}

INSTANTIATE_TEST_SUITE_P(Values, InvalidEtcdValue,
                         testing::Values("", "10.0.0.1:1", "[]", "null", "{}", R"({"Addr":7})",
                                         R"({"Addr":"movies:1"})", R"({"Op":2,"Addr":"10.0.0.2:1"})",
                                         R"({"Op":"0","Addr":"10.0.0.2:1"})",
                                         R"({"Op":-1,"Addr":"10.0.0.2:1"})",
                                         R"({"Addr":"10.0.0.2:1","Metadata":")" +
                                             std::string(etcd_names::value_bytes_max, 'x') + "\"}",
                                         R"({"Addr":")" + std::string(60000, 'x') + "\"}",
                                         std::string(200, '['), "\xff"));

TEST(EtcdNames, TheirNumberAndTheirLengthAreLimited) {
  etcd_names names("movies");
  const std::string value = written("10.0.0.1:1");
  EXPECT_TRUE(names.put({"movies/" + std::string(2000, 'x'), value}).ok());
  EXPECT_THAT(addresses_of(names), IsEmpty());
  for (std::size_t i = 0; i < etcd_names::keys_max; ++i)
    ASSERT_TRUE(names.put({"movies/" + std::to_string(i), value}).ok()) << i;
  EXPECT_TRUE(names.put({"movies/7", value}).ok());
  EXPECT_FALSE(names.put({"movies/more", value}).ok());
}

etcd::range_response page_of(std::vector<std::string> keys, bool more) {
  etcd::range_response page;
  for (std::string& key : keys) page.pairs.push_back({std::move(key), written("10.0.0.1:1")});
  page.more = more;
  return page;
}

TEST(EtcdNames, AreReadInPages) {
  etcd_names names("movies");
  EXPECT_EQ(names.add_page(page_of({"movies/a", "movies/b"}, true), "movies/").value(),
            std::string("movies/b") + '\0');
  EXPECT_EQ(names.add_page(page_of({"movies/c"}, false), std::string("movies/b") + '\0').value(), "");
  EXPECT_THAT(addresses_of(names), ElementsAre("10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"));
}

TEST(EtcdNames, ThatWereNotAskedForAreRefused) {
  etcd_names names("movies");
  EXPECT_FALSE(names.add_page(page_of({"films/a"}, true), "movies/").ok());
  EXPECT_FALSE(names.add_page(page_of({"movies/a"}, true), "movies/b").ok());
  EXPECT_FALSE(names.add_page(page_of({}, true), "movies/").ok());
}

// Neither one that returns the key which was asked for, nor keys that are too long to be kept.
TEST(EtcdNames, PagesEnd) {
  for (const std::string& more : {std::string(), std::string(2000, 'x')}) {
    etcd_names names("movies");
    std::string key = names.prefix();
    std::size_t pages = 0;
    for (; pages < 2 * etcd_names::pages_max; ++pages) {
      result<std::string> next = names.add_page(page_of({key + more}, true), key);
      if (!next.ok()) break;
      key = *std::move(next);
    }
    EXPECT_EQ(pages, etcd_names::pages_max - 1);
    names.clear();
    EXPECT_TRUE(names.add_page(page_of({"movies/a"}, true), "movies/").ok());
  }
}

TEST(EtcdNames, OfTheGreatestLengthsFitAPage) {
  constexpr std::size_t message_bytes_max = std::size_t{4} << 20;
  EXPECT_LE(etcd_names::page_keys * (etcd_names::key_bytes_max + etcd_names::value_bytes_max + 64),
            message_bytes_max);
}

TEST(EtcdNames, HaveNoSlashAtTheirEnds) {
  EXPECT_TRUE(is_etcd_name("movies"));
  EXPECT_TRUE(is_etcd_name("films/movies"));
  for (const std::string& name : {std::string(), std::string("/movies"), std::string("movies/"),
                                  std::string("a\nb"), std::string(600, 'x')})
    EXPECT_FALSE(is_etcd_name(name)) << name;
}

TEST(EtcdMessages, AreThoseOfTheWire) {
  EXPECT_EQ(etcd::end_of_prefix("movies/"), "movies0");
  const std::string range(
      "\x0a\x02"
      "a/"
      "\x12\x02"
      "a0"
      "\x18\xc8\x01");
  EXPECT_EQ(etcd::range_request("a/", "a0", 200, 0, etcd::freshness::current).bytes(), range);
  EXPECT_EQ(etcd::range_request("a/", "a0", 200, 0, etcd::freshness::any).bytes(), range + "\x38\x01");
  EXPECT_EQ(etcd::watch_request("a/", "a0", 5).bytes(), std::string("\x0a\x0a\x0a\x02"
                                                                    "a/"
                                                                    "\x12\x02"
                                                                    "a0"
                                                                    "\x18\x05"));
  EXPECT_EQ(etcd::put_request("k", "v", 1).bytes(), std::string("\x0a\x01k\x12\x01v\x18\x01"));
  EXPECT_EQ(etcd::grant_request(15).bytes(), "\x08\x0f");
  EXPECT_EQ(etcd::lease_request(-1).bytes(), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(EtcdMessages, ThatAreCutOffAreRefused) {
  // A header with revision 3, a put of k = v, a deletion of k, cancelled.
  const std::string whole(
      "\x0a\x02\x18\x03\x5a\x08\x12\x06\x0a\x01k\x2a\x01v\x5a\x07\x08\x01\x12\x03\x0a\x01k\x20\x01\x28\x09");
  etcd::watch_response response;
  ASSERT_TRUE(etcd::read(bytes_message(whole), response));
  ASSERT_EQ(response.events.size(), 2u);
  EXPECT_EQ(response.events[0].pair.key + "=" + response.events[0].pair.value, "k=v");
  EXPECT_FALSE(response.events[0].deleted);
  EXPECT_TRUE(response.events[1].deleted);
  EXPECT_TRUE(response.canceled);
  EXPECT_EQ(response.compact_revision, 9);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    etcd::watch_response part;
    refused += !etcd::read(bytes_message(whole.substr(0, i)), part);
  }
  EXPECT_EQ(refused, whole.size() - 5);  // cut between two fields it is whole
  etcd::range_response range;
  EXPECT_FALSE(etcd::read(bytes_message(std::string("\x12\x7f")), range));
  etcd::lease_response lease;
  EXPECT_FALSE(etcd::read(bytes_message(std::string("\x10")), lease));
}

}  // namespace
}  // namespace coracle::naming::etcd_names_test
