// The Listener of a server: what is invalid, and which filter chain a connection gets.
#include "unit/xds/inbound_builders.hpp"

#include "xds/limits.hpp"
#include "xds/resource/element_count.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace coracle::xds::inbound_listener_test {
namespace {

using namespace testing_resources;
using testing::HasSubstr;

result<std::shared_ptr<const listener>> parsed(const wire::Listener& l) {
  resource_rules rules;
  rules.has_provider = [](std::string_view name) { return name == "known"; };
  rules.serves = true;
  return parse_listener(l.SerializeAsString(), rules);
}
std::string refusal(const wire::Listener& l) {
  const auto read = parsed(l);
  return read ? "valid" : std::string(read.status().message());
}
std::string refusal(const std::function<void(wire::Listener&)>& change) {
  wire::Listener l = inbound_listener_at("127.0.0.1", 80);
  change(l);
  return refusal(l);
}
std::string refusal_of_tls(const std::function<void(wire::DownstreamTlsContext&)>& change) {
  wire::DownstreamTlsContext t = served_by("known");
  change(t);
  return refusal([&](wire::Listener& l) { set_tls(*l.mutable_filter_chains(0), t); });
}

TEST(XdsInboundListener, HasItsAddressAndItsChains) {
  const auto read = parsed(inbound_listener_at("127.0.0.1", 80));
  ASSERT_TRUE(read.ok()) << read.status();
  const inbound_listener& of = *(*read)->inbound;
  EXPECT_EQ(of.address, (socket_address{"127.0.0.1", 80}));
  ASSERT_EQ(of.chains.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<route_configuration>(of.chains[0].manager.routes));
  EXPECT_EQ(of.chains[0].tls, std::nullopt);
}

TEST(XdsInboundListener, IsInvalidWithoutWhatAServerNeeds) {
  EXPECT_THAT(refusal([](auto& l) { l.clear_address(); }), HasSubstr("has no address field"));
  EXPECT_THAT(refusal([](auto& l) { l.clear_filter_chains(); }), HasSubstr("no supported filter chains"));
  EXPECT_THAT(refusal([](auto& l) { l.add_listener_filters(); }),
              HasSubstr("listener_filters must be empty"));
  EXPECT_THAT(refusal([](auto& l) { l.mutable_use_original_dst()->set_value(true); }),
              HasSubstr("use_original_dst"));
  EXPECT_THAT(refusal([](auto& l) { l.mutable_api_listener(); }), HasSubstr("api_listener"));
  EXPECT_THAT(refusal([](auto& l) { l.mutable_filter_chains(0)->clear_filters(); }),
              HasSubstr("filter_chains[0] has no HttpConnectionManager"));
  EXPECT_THAT(refusal([](auto& l) { l.mutable_filter_chains(0)->mutable_filters(0)->clear_name(); }),
              HasSubstr("filter_chains[0].filters[0] has no name"));
  EXPECT_THAT(refusal([](auto& l) {
                *l.mutable_filter_chains(0)->mutable_filters(0)->mutable_typed_config() =
                    packed("some.Filter", wire::Router());
              }),
              HasSubstr("unexpected http connection manager resource type: some.Filter"));
  EXPECT_THAT(refusal([](auto& l) { l.mutable_filter_chains(0)->mutable_transport_socket()->set_name("x"); }),
              HasSubstr("transport_socket has an unsupported name: x"));
}

TEST(XdsInboundListener, ReadsTheTlsOfAChain) {
  wire::DownstreamTlsContext t = served_by("known");
  verify_clients(t, "known");
  t.mutable_require_client_certificate()->set_value(true);
  wire::Listener l = inbound_listener_at("127.0.0.1", 80);
  set_tls(*l.mutable_filter_chains(0), t);
  const auto read = parsed(l);
  ASSERT_TRUE(read.ok()) << read.status();
  const downstream_tls& tls = *(*read)->inbound->chains[0].tls;
  EXPECT_EQ(tls.certificate.instance, "known");
  EXPECT_EQ(tls.authorities->instance, "known");
  EXPECT_TRUE(tls.requires_client_certificate);
}

TEST(XdsInboundListener, TlsThatIsNotSupportedIsInvalid) {
  EXPECT_EQ(refusal_of_tls([](auto&) {}), "valid");
  EXPECT_THAT(refusal_of_tls([](auto& t) { t.clear_common_tls_context(); }),
              HasSubstr("no common_tls_context"));
  EXPECT_THAT(refusal_of_tls([](auto& t) { t = served_by("unknown"); }), HasSubstr("\"unknown\""));
  EXPECT_THAT(refusal_of_tls(
                  [](auto& t) { t.mutable_common_tls_context()->clear_tls_certificate_provider_instance(); }),
              HasSubstr("names no certificate provider of the server's certificate"));
  EXPECT_THAT(refusal_of_tls([](auto& t) { t.mutable_require_client_certificate()->set_value(true); }),
              HasSubstr("require_client_certificate needs"));
  EXPECT_THAT(refusal_of_tls([](auto& t) { t.mutable_require_sni()->set_value(true); }),
              HasSubstr("require_sni"));
  EXPECT_THAT(refusal_of_tls([](auto& t) { t.set_ocsp_staple_policy(1); }), HasSubstr("ocsp_staple_policy"));
  EXPECT_THAT(refusal_of_tls([](auto& t) {
                t.mutable_common_tls_context()->mutable_validation_context()->mutable_system_root_certs();
              }),
              HasSubstr("system_root_certs"));
  EXPECT_THAT(refusal_of_tls([](auto& t) {
                verify_clients(t, "known");
                t.mutable_common_tls_context()
                    ->mutable_validation_context()
                    ->add_match_subject_alt_names()
                    ->set_exact("a");
              }),
              HasSubstr("match_subject_alt_names"));
}

TEST(XdsInboundListener, RangesMustBeThoseOfAddresses) {
  const auto with = [](const std::string& address, std::uint32_t bits) {
    return refusal([&](wire::Listener& l) {
      add_range(*l.mutable_filter_chains(0)->mutable_filter_chain_match()->mutable_prefix_ranges(), address,
                bits);
    });
  };
  EXPECT_EQ(with("10.0.0.0", 32), "valid");
  EXPECT_EQ(with("::", 128), "valid");
  EXPECT_THAT(with("10.0.0.0", 33), HasSubstr("prefix_ranges[0] has a prefix_len of 33"));
  EXPECT_THAT(with("::", 129), HasSubstr("prefix_len of 129"));
  EXPECT_THAT(with("name.example", 8), HasSubstr("not an IP address"));
}

TEST(XdsInboundListener, ChainsWithTheSameCriteriaAreInvalid) {
  const auto both = [](const std::string& first, const std::string& second) {
    return refusal([&](wire::Listener& l) {
      *l.add_filter_chains() = l.filter_chains(0);
      for (const auto& [i, text] : {std::pair(0, first), std::pair(1, second)})
        add_range(*l.mutable_filter_chains(i)->mutable_filter_chain_match()->mutable_prefix_ranges(), text,
                  8);
    });
  };
  EXPECT_EQ(both("10.0.0.0", "11.0.0.0"), "valid");
  EXPECT_THAT(both("10.0.0.0", "10.1.2.3"),
              HasSubstr("multiple filter chains with overlapping matching rules"));
}

TEST(XdsInboundListener, HasALimitOfCriteria) {
  EXPECT_THAT(refusal([](wire::Listener& l) {
                auto& match = *l.mutable_filter_chains(0)->mutable_filter_chain_match();
                for (std::uint32_t i = 1; i <= limits::filter_chain_criteria_max + 1; ++i)
                  match.add_source_ports(i);
              }),
              HasSubstr("exceeds 10000 combinations"));
}

// They are counted before they are parsed: packed, a port has one byte.
TEST(XdsInboundListener, PortsCountAsElements) {
  const auto within = [](char tag, const std::string& content) {
    return std::string(1, tag) + static_cast<char>(content.size()) + content;
  };
  const std::string ports("\x01\x80\x01\x02", 4);  // 1, 128 and 2
  const std::string packed_ports = within('\x3a', ports);
  const std::string single_ports("\x38\x01\x38\x80\x01\x38\x02", 7);
  for (const std::string& match : {packed_ports, single_ports}) {
    const std::string of_listener = within('\x1a', within('\x0a', match));
    wire::Listener read;
    ASSERT_TRUE(read.ParseFromString(of_listener));
    ASSERT_EQ(read.filter_chains(0).filter_chain_match().source_ports_size(), 3);
    EXPECT_EQ(element_count(resource_kind::listener, of_listener), 4u);  // and the chain
  }
  EXPECT_THAT(refusal([](wire::Listener& l) {
                auto& match = *l.mutable_filter_chains(0)->mutable_filter_chain_match();
                for (std::size_t i = 0; i <= limits::elements_per_resource_max; ++i)
                  match.add_source_ports(1);
              }),
              HasSubstr("has more than 200000 elements in its lists"));
}

// The names of the chains are what they are for.
class XdsFilterChains : public testing::Test {
 public:
  wire::FilterChainMatch& add(const std::string& name) {
    auto* const chain = of_.add_filter_chains();
    *chain = inbound_chain(name);
    return *chain->mutable_filter_chain_match();
  }
  std::string chosen(const std::string& local, const std::string& peer) {
    const auto read = parsed(of_);
    if (!read) return std::string(read.status().message());
    const filter_chain* const c =
        (*read)->inbound->find(net::address::parse(local).value(), net::address::parse(peer).value());
    return c ? c->name : "none";
  }

  wire::Listener of_ = [] {
    wire::Listener l = inbound_listener_at("127.0.0.1", 80);
    l.clear_filter_chains();
    return l;
  }();
};

TEST_F(XdsFilterChains, TheLongestDestinationWins) {
  add("any");
  add_range(*add("all of v4").mutable_prefix_ranges(), "0.0.0.0", 0);
  add_range(*add("ten").mutable_prefix_ranges(), "10.0.0.0", 8);
  add_range(*add("ten one").mutable_prefix_ranges(), "10.1.0.0", 16);
  EXPECT_EQ(chosen("10.1.2.3:80", "20.0.0.1:1"), "ten one");
  EXPECT_EQ(chosen("10.2.2.3:80", "20.0.0.1:1"), "ten");
  EXPECT_EQ(chosen("11.2.2.3:80", "20.0.0.1:1"), "all of v4");
  EXPECT_EQ(chosen("[::2]:80", "[::3]:1"), "any");
  add_range(*add("mapped").mutable_prefix_ranges(), "::ffff:12.0.0.0", 104);
  EXPECT_EQ(chosen("12.2.2.3:80", "20.0.0.1:1"), "mapped");
}

TEST_F(XdsFilterChains, TheKindOfSourceComesBeforeItsRange) {
  add("any");
  add("external").set_source_type(2);
  add("same").set_source_type(1);
  add_range(*add("range").mutable_source_prefix_ranges(), "20.0.0.0", 8);
  EXPECT_EQ(chosen("10.1.2.3:80", "20.0.0.1:1"), "external");
  EXPECT_EQ(chosen("10.1.2.3:80", "10.1.2.3:1"), "same");
  EXPECT_EQ(chosen("127.0.0.1:80", "127.0.0.2:1"), "same");
}

TEST_F(XdsFilterChains, TheLongestSourceAndThenThePortWin) {
  add_range(*add("twenty").mutable_source_prefix_ranges(), "20.0.0.0", 8);
  auto& exact = add("twenty, port 7");
  add_range(*exact.mutable_source_prefix_ranges(), "20.0.0.0", 8);
  exact.add_source_ports(7);
  add_range(*add("twenty one").mutable_source_prefix_ranges(), "20.1.0.0", 16);
  EXPECT_EQ(chosen("10.1.2.3:80", "20.0.0.1:1"), "twenty");
  EXPECT_EQ(chosen("10.1.2.3:80", "20.0.0.1:7"), "twenty, port 7");
  EXPECT_EQ(chosen("10.1.2.3:80", "20.1.0.1:7"), "twenty one");
  EXPECT_EQ(chosen("10.1.2.3:80", "30.1.0.1:7"), "none");
}

TEST_F(XdsFilterChains, WhatIsLessSpecificDoesNotComeBack) {
  add("any");
  auto& narrow = add("narrow");
  add_range(*narrow.mutable_prefix_ranges(), "10.0.0.0", 8);
  add_range(*narrow.mutable_source_prefix_ranges(), "20.0.0.0", 8);
  EXPECT_EQ(chosen("10.0.0.1:80", "30.0.0.1:1"), "none");
  *of_.mutable_default_filter_chain() = inbound_chain("default");
  EXPECT_EQ(chosen("10.0.0.1:80", "30.0.0.1:1"), "default");
}

TEST_F(XdsFilterChains, ChainsWithOtherCriteriaArePassedOver) {
  add("port").mutable_destination_port()->set_value(80);
  add("name").add_server_names("a");
  add("protocol").add_application_protocols("h2");
  add("tls").set_transport_protocol("tls");
  EXPECT_THAT(chosen("10.0.0.1:80", "30.0.0.1:1"), HasSubstr("no supported filter chains"));
  add("any");
  EXPECT_EQ(chosen("10.0.0.1:80", "30.0.0.1:1"), "any");
  add("raw").set_transport_protocol("raw_buffer");
  EXPECT_EQ(chosen("10.0.0.1:80", "30.0.0.1:1"), "raw");
}

}  // namespace
}  // namespace coracle::xds::inbound_listener_test
