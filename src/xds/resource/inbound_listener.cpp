#include "xds/resource/inbound_listener.hpp"

#include "base/printable.hpp"
#include "xds/limits.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace coracle::xds {

namespace {

using net::address_range;

template <class Ranges>
std::vector<std::optional<address_range>> ranges_of(const Ranges& from, const field_path& at,
                                                    std::string_view name) {
  std::vector<std::optional<address_range>> to;
  for (int i = 0; i < from.size(); ++i)
    to.emplace_back(range_of(from.at(i), at.at(name, static_cast<std::size_t>(i))));
  if (to.empty()) to.emplace_back();
  return to;
}

// Criteria that are not supported: the chain is never chosen.
bool is_passed_over(const wire::FilterChainMatch& m) {
  return m.has_destination_port() || m.server_names_size() > 0 || m.application_protocols_size() > 0 ||
         (!m.transport_protocol().empty() && m.transport_protocol() != "raw_buffer");
}

source_type sources_of(const wire::FilterChainMatch& m, const field_path& at) {
  switch (m.source_type()) {
    case 0: return source_type::any;
    case 1: return source_type::same_or_loopback;
    case 2: return source_type::external;
    default: at.at("source_type").refuse("is unknown: " + std::to_string(m.source_type()));
  }
}

// Before anything of that size is made.
void check_sizes(const wire::FilterChainMatch& m, const field_path& at) {
  constexpr std::size_t max = limits::filter_chain_criteria_max;
  const auto size_of = [](int listed) { return static_cast<std::size_t>(std::max(listed, 1)); };
  const std::size_t destinations = size_of(m.prefix_ranges_size());
  const std::size_t sources = size_of(m.source_prefix_ranges_size());
  const std::size_t ports = size_of(m.source_ports_size());
  if (destinations > max || sources > max || ports > max || destinations * sources > max ||
      destinations * sources * ports > max)
    at.refuse("exceeds " + std::to_string(max) + " combinations of ranges and ports");
}

std::set<chain_criteria> criteria_of(const wire::FilterChainMatch& m, const field_path& at) {
  const auto destinations = ranges_of(m.prefix_ranges(), at, "prefix_ranges");
  const auto sources = ranges_of(m.source_prefix_ranges(), at, "source_prefix_ranges");
  std::vector<std::optional<std::uint32_t>> ports(m.source_ports().begin(), m.source_ports().end());
  if (ports.empty()) ports.emplace_back();
  std::set<chain_criteria> all;
  const source_type from = sources_of(m, at);
  for (const auto& destination : destinations)
    for (const auto& source : sources)
      for (const auto& port : ports)
        all.insert({destination, m.transport_protocol() == "raw_buffer", from, source, port});
  return all;
}

filter_chain chain_of(const wire::FilterChain& from, const reading& how, const field_path& at) {
  filter_chain to;
  to.name = from.name();
  if (from.filters_size() == 0) at.refuse("has no HttpConnectionManager");
  // What follows it is ignored, and nothing else may precede it.
  const wire::NetworkFilter& first = from.filters(0);
  const field_path of_first = at.at("filters", std::size_t{0});
  if (first.name().empty()) of_first.refuse("has no name");
  to.manager = read_http_manager(first.typed_config(), how, of_first.at("typed_config"));
  if (from.has_transport_socket()) {
    const field_path here = at.at("transport_socket");
    if (from.transport_socket().name() != "envoy.transport_sockets.tls")
      here.refuse("has an unsupported name: " + base::printable(from.transport_socket().name()));
    to.tls = read_downstream_tls(from.transport_socket().typed_config(), how.rules.has_provider,
                                 here.at("typed_config"));
  }
  return to;
}

// How specific a range is; an absent one is less so than one of all addresses. Nothing if it does not fit.
std::optional<std::int64_t> rank(const std::optional<address_range>& range, const net::address& a) {
  if (!range) return -1;
  if (!range->contains(a)) return std::nullopt;
  return range->bits;
}

bool is_same_or_loopback(const net::address& local, const net::address& peer) {
  return peer.is_loopback() || (peer.kind() == local.kind() && peer.ip_bytes() == local.ip_bytes());
}

}  // namespace

// gRFC A36: each criterion in turn leaves the rules that fit it most specifically, and what was passed over
// does not come back if none of these fits the next criterion.
const filter_chain* inbound_listener::find(const net::address& local, const net::address& peer) const {
  std::vector<const rule*> left;
  left.reserve(rules.size());
  for (const rule& r : rules) left.push_back(&r);
  const auto keep_best = [&left](const auto& rank_of) {
    std::optional<std::int64_t> best;
    std::size_t kept = 0;
    for (const rule* const r : left) {
      const std::optional<std::int64_t> one = rank_of(r->criteria);
      if (!one || (best && *one < *best)) continue;
      if (!best || *one > *best) kept = 0;
      best = one;
      left[kept++] = r;
    }
    left.resize(kept);
  };
  using ranked = std::optional<std::int64_t>;
  keep_best([&](const chain_criteria& c) { return rank(c.destination, local); });
  keep_best([](const chain_criteria& c) { return ranked(c.raw_buffer); });
  const source_type of_peer =
      is_same_or_loopback(local, peer) ? source_type::same_or_loopback : source_type::external;
  keep_best([&](const chain_criteria& c) {
    if (c.sources != source_type::any && c.sources != of_peer) return ranked();
    return ranked(c.sources != source_type::any);
  });
  keep_best([&](const chain_criteria& c) { return rank(c.source, peer); });
  keep_best([&](const chain_criteria& c) {
    if (c.source_port && *c.source_port != peer.port()) return ranked();
    return ranked(c.source_port.has_value());
  });
  if (!left.empty()) return &chains[left.front()->chain];
  return default_chain ? &chains[*default_chain] : nullptr;
}

inbound_listener read_inbound_listener(const wire::Listener& from, const reading& how,
                                       const field_path& top) {
  inbound_listener to;
  if (from.has_api_listener()) top.refuse("has an api_listener, which is for clients");
  if (!from.has_address()) top.refuse("has no address field");
  to.address = read_address(from.address(), top.at("address"));
  if (from.listener_filters_size() > 0) top.at("listener_filters").refuse("must be empty");
  if (from.use_original_dst().value()) top.at("use_original_dst").refuse("must not be true");
  std::set<chain_criteria> known;
  for (int i = 0; i < from.filter_chains_size(); ++i) {
    const field_path at = top.at("filter_chains", static_cast<std::size_t>(i));
    const wire::FilterChainMatch& match = from.filter_chains(i).filter_chain_match();
    filter_chain chain = chain_of(from.filter_chains(i), how, at);
    const field_path of_match = at.at("filter_chain_match");
    check_sizes(match, of_match);
    if (is_passed_over(match)) {
      (void)ranges_of(match.prefix_ranges(), of_match, "prefix_ranges");
      (void)ranges_of(match.source_prefix_ranges(), of_match, "source_prefix_ranges");
      continue;
    }
    const auto all = criteria_of(match, of_match);
    for (const chain_criteria& c : all) {
      if (!known.insert(c).second)
        at.refuse("is one of multiple filter chains with overlapping matching rules");
      if (known.size() > limits::filter_chain_criteria_max)
        of_match.refuse("exceeds " + std::to_string(limits::filter_chain_criteria_max) +
                        " combinations of ranges and ports");
      to.rules.push_back({c, to.chains.size()});
    }
    to.chains.push_back(std::move(chain));
  }
  if (from.has_default_filter_chain()) {
    to.default_chain = to.chains.size();
    to.chains.push_back(chain_of(from.default_filter_chain(), how, top.at("default_filter_chain")));
  }
  if (to.chains.empty()) top.refuse("has no supported filter chains and no default filter chain");
  return to;
}

}  // namespace coracle::xds
