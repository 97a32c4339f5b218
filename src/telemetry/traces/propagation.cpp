#include "telemetry/traces/propagation.hpp"

#include "base/trimmed.hpp"
#include "protocol/grpc/header_names.hpp"
#include "rpc/hex_id.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace coracle::telemetry_internal {

using rpc::all_zero;
using rpc::parse_hex;

namespace {

constexpr std::string_view parent_key = "traceparent";
constexpr std::string_view state_key = "tracestate";
constexpr std::string_view b3_key = "b3";
constexpr std::string_view b3_trace_key = "x-b3-traceid";
constexpr std::string_view b3_span_key = "x-b3-spanid";
constexpr std::string_view b3_sampled_key = "x-b3-sampled";
constexpr std::string_view b3_flags_key = "x-b3-flags";
constexpr std::string_view binary_key = protocol::grpc::binary_trace_header;
constexpr std::string_view own_key = "ot";

constexpr std::size_t state_members_max = 32;
constexpr std::size_t state_key_bytes_max = 256;
constexpr std::size_t state_value_bytes_max = 256;

// Joins the values of a header that may come in several fields. What exceeds twice the limit is not read.
std::string joined(const metadata& from, std::string_view key) {
  std::string all;
  for (const auto field : from) {
    if (field.name != key || all.size() > 2 * trace_context::state_bytes_max) continue;
    if (!all.empty()) all.push_back(',');
    all.append(field.value.substr(0, 2 * trace_context::state_bytes_max + 1));
  }
  return all;
}

template <class Id>
std::string hex(const Id& id) {
  std::string text;
  rpc::add_hex(text, id);
  return text;
}

bool is_state_key(std::string_view key) noexcept {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !key.empty() && key.size() <= state_key_bytes_max && plain(key.front()) &&
         std::ranges::all_of(key, [&](char c) {
           return plain(c) || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
         });
}

bool is_state_value(std::string_view value) noexcept {
  return !value.empty() && value.size() <= state_value_bytes_max && value.back() != ' ' &&
         std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

// Calls f(member) for each member of a tracestate that is not empty, until it returns false.
template <class F>
void for_each_member(std::string_view state, F f) {
  while (!state.empty()) {
    const std::size_t comma = std::min(state.find(','), state.size());
    const std::string_view member = base::trimmed(state.substr(0, comma));
    state.remove_prefix(std::min(comma + 1, state.size()));
    if (!member.empty() && !f(member)) return;
  }
}

// Ids of b3 may be in upper case in other implementations, but never on the wire of those that conform.
std::optional<trace_context> b3_of(std::string_view trace, std::string_view span, trace_flags flags) {
  trace_context::trace_id t{};
  trace_context::span_id s{};
  // A trace id of 64 bits is padded with zeros on the left.
  const bool is_short = trace.size() == 16;
  if (!(is_short || trace.size() == 32) || span.size() != 16) return std::nullopt;
  if (!parse_hex(trace, t.data() + (is_short ? 8 : 0)) || !parse_hex(span, s.data())) return std::nullopt;
  if (all_zero(t) || all_zero(s)) return std::nullopt;
  return trace_context(t, s, flags);
}

std::optional<trace_flags> b3_state(std::string_view text) noexcept {
  if (text == "0") return trace_flags();
  if (text == "1") return trace_flags{.sampled = true};
  if (text == "d") return trace_flags{.sampled = true, .debug = true};
  return std::nullopt;
}

// "true" and "false" are what early versions sent.
received_trace extract_b3_multi(const metadata& from) {
  const auto trace = from.find(b3_trace_key);
  const auto span = from.find(b3_span_key);
  const auto sampled = from.find(b3_sampled_key);
  std::optional<trace_flags> flags;
  if (from.find(b3_flags_key) == "1") flags = trace_flags{.sampled = true, .debug = true};
  else if (sampled == "1" || sampled == "true") flags = trace_flags{.sampled = true};
  else if (sampled == "0" || sampled == "false") flags = trace_flags();
  if (trace && span) return {b3_of(*trace, *span, flags.value_or(trace_flags())), std::nullopt};
  return {std::nullopt, flags};
}

}  // namespace

received_trace parse_b3(std::string_view value) {
  std::array<std::string_view, 4> parts;  // trace, span, state, parent
  std::size_t count = 0;
  while (true) {
    if (count == parts.size()) return {};
    const std::size_t dash = std::min(value.find('-'), value.size());
    parts[count++] = value.substr(0, dash);
    if (dash == value.size()) break;
    value.remove_prefix(dash + 1);
  }
  if (count == 1) return {std::nullopt, b3_state(parts[0])};
  std::optional<trace_flags> flags = trace_flags();
  if (count > 2) flags = b3_state(parts[2]);
  trace_context::span_id parent;
  if (!flags || (count > 3 && (parts[3].size() != 16 || !parse_hex(parts[3], parent.data())))) return {};
  return {b3_of(parts[0], parts[1], *flags), std::nullopt};
}

std::string valid_state(std::string_view header) {
  std::string kept;
  std::size_t members = 0;
  bool good = true;
  bool room = true;
  for_each_member(header, [&](std::string_view member) {
    const std::size_t equals = std::min(member.find('='), member.size());
    const bool valid = equals < member.size() && is_state_key(member.substr(0, equals)) &&
                       is_state_value(member.substr(equals + 1));
    if (!valid) return good = false;
    const std::size_t bytes = kept.size() + (kept.empty() ? 0 : 1) + member.size();
    room = room && members < state_members_max && bytes <= trace_context::state_bytes_max;
    if (!room) return false;
    if (!kept.empty()) kept.push_back(',');
    kept.append(member);
    ++members;
    return true;
  });
  return good ? kept : std::string();
}

std::string with_own_member(std::string_view state, std::string_view value) {
  std::string made;
  std::size_t members = 0;
  if (!value.empty()) {
    made.append(own_key).append("=").append(value);
    ++members;
  }
  for_each_member(state, [&](std::string_view member) {
    if (member.starts_with("ot=")) return true;
    const std::size_t bytes = made.size() + (made.empty() ? 0 : 1) + member.size();
    if (members == state_members_max || bytes > trace_context::state_bytes_max) return false;
    if (!made.empty()) made.push_back(',');
    made.append(member);
    ++members;
    return true;
  });
  return made;
}

std::string_view own_member(std::string_view state) noexcept {
  std::string_view found;
  for_each_member(state, [&](std::string_view member) {
    if (!member.starts_with("ot=")) return true;
    found = member.substr(3);
    return false;
  });
  return found;
}

propagation::propagation(const propagator_set& by) noexcept : by_(by) {
  const auto reads = [&](std::string_view key) { sizes_ |= std::uint64_t{1} << key.size(); };
  if (by_.w3c) reads(parent_key);
  if (by_.b3 || by_.b3_multi) {
    reads(b3_key);
    reads(b3_trace_key);  // and x-b3-sampled, which is as long
    reads(b3_flags_key);
  }
  if (by_.w3c || by_.grpc_trace_bin) reads(binary_key);
}

received_trace propagation::extract(const metadata& from) const {
  if (by_.w3c) {
    if (const auto parent = from.find(parent_key))
      if (auto found = trace_context::parse(*parent, valid_state(joined(from, state_key))))
        return {std::move(found), std::nullopt};
  }
  if (by_.b3 || by_.b3_multi) {
    received_trace found;
    if (const auto single = from.find(b3_key)) found = parse_b3(*single);
    if (!found.parent && !found.decision) found = extract_b3_multi(from);
    if (found.parent || found.decision) return found;
  }
  const auto binary = by_.w3c || by_.grpc_trace_bin ? from.find(binary_key) : std::nullopt;
  return {binary ? trace_context::parse_binary(*binary) : std::nullopt, std::nullopt};
}

void propagation::inject(const trace_context& span, bool binary, metadata& to) const {
  if (by_.w3c) {
    to.add_received(parent_key, span.traceparent());
    if (!span.state().empty()) to.add_received(state_key, span.state());
  }
  if (by_.b3) {
    std::string value = hex(span.trace());
    value.append("-").append(hex(span.span()));
    value.append(span.flags().debug ? "-d" : span.sampled() ? "-1" : "-0");
    to.add_received(b3_key, value);
  }
  if (by_.b3_multi) {
    to.add_received(b3_trace_key, hex(span.trace()));
    to.add_received(b3_span_key, hex(span.span()));
    if (span.flags().debug) to.add_received(b3_flags_key, "1");
    else to.add_received(b3_sampled_key, span.sampled() ? "1" : "0");
  }
  if (binary || by_.grpc_trace_bin) to.add_received(binary_key, span.binary());
}

}  // namespace coracle::telemetry_internal
