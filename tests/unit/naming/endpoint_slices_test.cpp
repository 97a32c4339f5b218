#include "naming/endpoint_slices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::naming::endpoint_slices_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* grpc_port = R"([{"name":"grpc","port":50051,"protocol":"TCP"}])";

std::string slice(const std::string& name, const std::string& endpoints, const std::string& ports = grpc_port,
                  const std::string& type = "IPv4", const std::string& version = "7") {
  return R"({"kind":"EndpointSlice","metadata":{"name":")" + name + R"(","resourceVersion":")" + version +
         R"("},"addressType":")" + type + R"(","endpoints":[)" + endpoints + R"(],"ports":)" + ports + "}";
}
std::string pod(const std::string& address, const std::string& more = "") {
  return R"({"addresses":[")" + address + R"("])" + (more.empty() ? "" : "," + more) + "}";
}
std::string list(const std::string& items, const std::string& next = "") {
  return R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"5","continue":")" + next +
         R"("},"items":[)" + items + "]}";
}
std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

std::vector<std::string> addresses_of(const endpoint_slices& of) {
  std::vector<std::string> found;
  for (const client::endpoint& e : of.servers().servers) found.push_back(e.address().to_string());
  return found;
}

// After one LIST of one page.
std::vector<std::string> listed(const std::string& items, wanted_port port = {0, "grpc"},
                                std::string zone = "") {
  endpoint_slices slices(std::move(port), std::move(zone));
  slices.begin_list();
  const result<std::string> next = slices.add_page(list(items));
  EXPECT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(slices.version(), "5");
  return addresses_of(slices);
}

TEST(EndpointSlices, OfOneServiceAreMergedByAddress) {
  EXPECT_THAT(listed(slice("a", pod("10.0.0.2") + "," + pod("10.0.0.1")) + "," +
                     slice("b", pod("10.0.0.1") + "," + pod("10.0.0.3"))),
              ElementsAre("10.0.0.1:50051", "10.0.0.2:50051", "10.0.0.3:50051"));
}

TEST(EndpointSlices, ZoneAndNodeOfAPodAreAttributes) {
  endpoint_slices slices({0, "grpc"}, "");
  slices.begin_list();
  ASSERT_TRUE(slices
                  .add_page(list(
                      slice("a", pod("10.0.0.1", R"("zone":"a","nodeName":"n1")") + "," + pod("10.0.0.2"))))
                  .ok());
  const server_list found = slices.servers();
  EXPECT_THAT(found.servers.at(0).attributes(),
              ElementsAre(testing::Pair("node", "n1"), testing::Pair("zone", "a")));
  EXPECT_THAT(found.servers.at(1).attributes(), IsEmpty());
}

TEST(EndpointSlices, ConditionsDecideWhoGetsCalls) {
  const std::string ready = pod("10.0.0.1", R"("conditions":{"ready":true})");
  const std::string unknown = pod("10.0.0.2", R"("conditions":{"ready":null})");
  const std::string unready = pod("10.0.0.3", R"("conditions":{"ready":false})");
  const std::string draining =
      pod("10.0.0.4", R"("conditions":{"ready":false,"serving":true,"terminating":true})");
  const std::string gone =
      pod("10.0.0.5", R"("conditions":{"ready":false,"serving":false,"terminating":true})");
  const std::string rest = "," + unready + "," + draining + "," + gone;
  EXPECT_THAT(listed(slice("a", ready + "," + unknown + rest)),
              ElementsAre("10.0.0.1:50051", "10.0.0.2:50051"));
  EXPECT_THAT(listed(slice("a", gone + rest)), ElementsAre("10.0.0.4:50051"));
  EXPECT_THAT(listed(slice("a", unready + "," + gone)), IsEmpty());
}

TEST(EndpointSlices, AnAddressThatOneSliceCallsReadyIsReady) {
  const std::string draining =
      pod("10.0.0.1", R"("conditions":{"ready":false,"serving":true,"terminating":true})");
  EXPECT_THAT(listed(slice("a", pod("10.0.0.1")) + "," + slice("b", draining)),
              ElementsAre("10.0.0.1:50051"));
}

struct port_row {
  const char* ports;
  wanted_port port;
  std::uint16_t found;
};
void PrintTo(const port_row& r, std::ostream* out) { *out << r.ports << r.port.number << r.port.name; }

class PortOf : public testing::TestWithParam<port_row> {};

TEST_P(PortOf, AnEndpointSlice) {
  const auto found = listed(slice("a", pod("10.0.0.1"), GetParam().ports), GetParam().port);
  if (GetParam().found == 0) EXPECT_THAT(found, IsEmpty());
  else EXPECT_THAT(found, ElementsAre("10.0.0.1:" + std::to_string(GetParam().found)));
}

constexpr const char* two_ports = R"([{"name":"dns","port":53,"protocol":"UDP"},{"name":"http","port":80},
                                     {"name":"grpc","port":50051,"protocol":"TCP"}])";
INSTANTIATE_TEST_SUITE_P(
    Ports, PortOf,
    testing::Values(port_row{two_ports, {0, "grpc"}, 50051}, port_row{two_ports, {0, "http"}, 80},
                    port_row{two_ports, {0, ""}, 80}, port_row{two_ports, {50051, ""}, 50051},
                    port_row{two_ports, {0, "dns"}, 0}, port_row{two_ports, {53, ""}, 0},
                    port_row{two_ports, {81, ""}, 0}, port_row{"null", {81, ""}, 81},
                    port_row{"null", {0, "grpc"}, 0}, port_row{R"([{"name":"","port":null}])", {81, ""}, 81},
                    port_row{R"([{"name":"grpc","port":0}])", {0, "grpc"}, 0},
                    port_row{R"([{"name":"grpc","port":65536}])", {0, "grpc"}, 0},
                    port_row{R"([{"name":"grpc","port":65535}])", {0, "grpc"}, 65535},
                    port_row{R"([{"name":"grpc","port":"http"}])", {0, "grpc"}, 0},
                    port_row{"[]", {0, ""}, 0}));

TEST(EndpointSlices, OfIpv6AreUsedIfThereIsNoOther) {
  const std::string six = slice("six", pod("fd00::1"), grpc_port, "IPv6");
  EXPECT_THAT(listed(six), ElementsAre("[fd00::1]:50051"));
  EXPECT_THAT(listed(six + "," + slice("four", pod("10.0.0.1"))), ElementsAre("10.0.0.1:50051"));
}

TEST(EndpointSlices, WhatIsNoAddressIsLeftOut) {
  EXPECT_THAT(listed(slice("name", pod("movies.example"), grpc_port, "FQDN") + "," +
                     slice("a", pod("unix:/run/x") + "," + pod("10.0.0.1") + R"(,{"addresses":[]},{},7)")),
              ElementsAre("10.0.0.1:50051"));
}

TEST(EndpointSlices, HintsCountIfAllEndpointsHaveThem) {
  const std::string a = pod("10.0.0.1", R"("hints":{"forZones":[{"name":"a"}]})");
  const std::string b = pod("10.0.0.2", R"("hints":{"forZones":[{"name":"a"},{"name":"b"}]})");
  const std::string none = pod("10.0.0.3");
  EXPECT_THAT(listed(slice("s", a + "," + b), {0, "grpc"}, "b"), ElementsAre("10.0.0.2:50051"));
  EXPECT_THAT(listed(slice("s", a + "," + b), {0, "grpc"}, "c").size(), 2u);
  EXPECT_THAT(listed(slice("s", a + "," + b)).size(), 2u);
  EXPECT_THAT(listed(slice("s", a + "," + b + "," + none), {0, "grpc"}, "b").size(), 3u);
}

TEST(EndpointSlices, WhatIsKeptOfAnEndpointIsLimited) {
  std::string zones = R"("hints":{"forZones":[{"name":")" + std::string(300, 'z') + R"("})";
  for (int i = 0; i < 20; ++i) zones += R"(,{"name":"zone)" + std::to_string(i) + R"("})";
  const std::string hinted = pod("10.0.0.1", zones + "]}");
  const std::string other = pod("10.0.0.2", R"("hints":{"forZones":[{"name":"x"}]})");
  EXPECT_THAT(listed(slice("s", hinted + "," + other), {0, "grpc"}, "zone7"), ElementsAre("10.0.0.1:50051"));
  EXPECT_THAT(listed(slice("s", hinted + "," + other), {0, "grpc"}, "zone8").size(), 2u);
  EXPECT_THAT(listed(slice("s", hinted + "," + other), {0, "grpc"}, std::string(300, 'z')).size(), 2u);
  EXPECT_THAT(listed(slice("s", pod(std::string(100, '1')))), IsEmpty());
  endpoint_slices slices({0, "grpc"}, "");
  EXPECT_FALSE(slices.apply(event("ADDED", slice(std::string(300, 'n'), pod("10.0.0.1")))).ok());
}

TEST(EndpointSlices, PagesBecomeOneList) {
  endpoint_slices slices({0, "grpc"}, "");
  slices.begin_list();
  EXPECT_EQ(slices.add_page(list(slice("a", pod("10.0.0.1")), "more")).value(), "more");
  EXPECT_THAT(addresses_of(slices), IsEmpty());
  EXPECT_EQ(slices.version(), "");
  EXPECT_EQ(slices.add_page(list(slice("b", pod("10.0.0.2")))).value(), "");
  EXPECT_THAT(addresses_of(slices), ElementsAre("10.0.0.1:50051", "10.0.0.2:50051"));
  slices.begin_list();
  EXPECT_EQ(slices.add_page(R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"9"},"items":null})")
                .value(),
            "");
  EXPECT_THAT(addresses_of(slices), IsEmpty());
  EXPECT_EQ(slices.version(), "9");
}

TEST(EndpointSlices, EventsChangeThem) {
  endpoint_slices slices({0, "grpc"}, "");
  using change = endpoint_slices::change;
  EXPECT_EQ(slices.apply(event("ADDED", slice("a", pod("10.0.0.1")))).value(), change::servers);
  EXPECT_EQ(slices.apply(event("ADDED", slice("b", pod("10.0.0.2"), grpc_port, "IPv4", "8"))).value(),
            change::servers);
  EXPECT_EQ(slices.version(), "8");
  EXPECT_EQ(slices.apply(event("MODIFIED", slice("b", pod("10.0.0.3")))).value(), change::servers);
  EXPECT_THAT(addresses_of(slices), ElementsAre("10.0.0.1:50051", "10.0.0.3:50051"));
  EXPECT_EQ(slices.apply(event("DELETED", slice("a", ""))).value(), change::servers);
  EXPECT_EQ(slices.apply(event("BOOKMARK", R"({"metadata":{"resourceVersion":"12"}})")).value(),
            change::none);
  EXPECT_EQ(slices.version(), "12");
  EXPECT_THAT(addresses_of(slices), ElementsAre("10.0.0.3:50051"));
  EXPECT_EQ(slices.apply(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")).value(),
            change::expired);
  EXPECT_EQ(slices.version(), "");
  EXPECT_THAT(addresses_of(slices), ElementsAre("10.0.0.3:50051"));
}

TEST(EndpointSlices, PagesEnd) {
  endpoint_slices slices({0, "grpc"}, "");
  for (int attempt = 0; attempt < 2; ++attempt) {
    slices.begin_list();
    for (std::size_t i = 0; i < endpoint_slices::pages_max; ++i)
      ASSERT_TRUE(slices.add_page(list("", "more")).ok()) << i;
    const result<std::string> further = slices.add_page(list("", "more"));
    ASSERT_FALSE(further.ok());
    EXPECT_THAT(std::string(further.status().message()), HasSubstr("2000 pages"));
  }
}

TEST(EndpointSlices, OfAThousandEndpointsFitAPage) {
  endpoint_slices slices({0, "grpc"}, "");
  std::string items;
  for (std::size_t i = 0; i < endpoint_slices::page_slices; ++i) {
    std::string endpoints;
    for (int j = 0; j < 1000; ++j)
      endpoints +=
          std::string(j == 0 ? "" : ",") +
          pod("10." + std::to_string(i) + "." + std::to_string(j / 250) + "." + std::to_string(j % 250),
              R"("conditions":{"ready":true,"serving":true,"terminating":false},"targetRef":{"kind":"Pod",)"
              R"("namespace":"a-namespace-of-some-length","name":"movies-of-some-deployment-7c5ddbdf54-x2v8q",)"
              R"("uid":"7d4a1f0e-52a3-4d8f-9c87-0d7b5f4f3c11"},"nodeName":"ip-10-0-132-17.eu-west-1.internal",)"
              R"("zone":"eu-west-1a","hints":{"forZones":[{"name":"eu-west-1a"}]})");
    items += std::string(i == 0 ? "" : ",") + slice("slice-" + std::to_string(i), endpoints);
  }
  slices.begin_list();
  const result<std::string> page = slices.add_page(list(items));
  EXPECT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(slices.servers().servers.size(), endpoint_slices::page_slices * 1000);
}

TEST(EndpointSlices, ThatAreReplacedOrRemovedDoNotCount) {
  endpoint_slices slices({0, "grpc"}, "");
  std::string endpoints = pod("10.0.0.1");
  for (int i = 1; i < 6000; ++i)
    endpoints += "," + pod("10.1." + std::to_string(i >> 8) + "." + std::to_string(i & 255));
  EXPECT_TRUE(slices.apply(event("ADDED", slice("a", endpoints))).ok());
  EXPECT_TRUE(slices.apply(event("MODIFIED", slice("a", endpoints))).ok());
  EXPECT_TRUE(slices.apply(event("DELETED", slice("a", ""))).ok());
  EXPECT_TRUE(slices.apply(event("ADDED", slice("b", endpoints))).ok());
  EXPECT_FALSE(slices.apply(event("ADDED", slice("c", endpoints))).ok());
}

class WrongAnswer : public testing::TestWithParam<std::string> {};

TEST_P(WrongAnswer, ChangesNothing) {
  endpoint_slices slices({0, "grpc"}, "");
  EXPECT_TRUE(slices.apply(event("ADDED", slice("a", pod("10.0.0.1")))).ok());
  EXPECT_FALSE(slices.apply(GetParam()).ok());
  slices.begin_list();
  EXPECT_FALSE(slices.add_page(GetParam()).ok());
  EXPECT_THAT(addresses_of(slices), ElementsAre("10.0.0.1:50051"));
  EXPECT_EQ(slices.version(), "7");
}

INSTANTIATE_TEST_SUITE_P(
    Answers, WrongAnswer,
    testing::Values("", "x", "[]", "7", "null", "{}", "\xff\xfe", std::string(150, '['),
                    R"({"kind":"PodList"})", R"({"kind":"EndpointSliceList","items":[]})",
                    R"({"kind":"EndpointSliceList","metadata":{},"items":[]})",
                    R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},"items":{}})",
                    R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},"items":[{}]})",
                    R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":7},"items":[]})",
                    event("ADDED", "{}"), event("ADDED", R"({"metadata":{"resourceVersion":"8"}})"),
                    event("MOVED", slice("a", "")), event("ERROR", R"({"code":500,"message":"x\ny"})"),
                    R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
                        std::string(9000, '1') + R"("}}})"));

TEST(EndpointSlices, TheirNumberIsLimited) {
  endpoint_slices slices({0, "grpc"}, "");
  std::string endpoints = pod("10.0.0.1");
  for (int i = 1; i < 6000; ++i)
    endpoints += "," + pod("10.1." + std::to_string(i >> 8) + "." + std::to_string(i & 255));
  slices.begin_list();
  ASSERT_TRUE(slices.add_page(list(slice("a", endpoints), "more")).ok());
  const result<std::string> second = slices.add_page(list(slice("b", endpoints)));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("10000 endpoints"));
}

}  // namespace
}  // namespace coracle::naming::endpoint_slices_test
