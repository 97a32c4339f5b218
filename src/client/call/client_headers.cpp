#include "client/call/client_headers.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "client/call/repeated_headers.hpp"
#include "coracle/base/version.hpp"
#include "coracle/client/method_path.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/loop.hpp"
#include "http/field_rules.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "rpc/message_format.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace coracle::client {

namespace {

using protocol::grpc::request_fields;

[[gnu::noinline]] void add_encoded(transport::exchange& to, const request_fields& f) {
  protocol::grpc::add_request_fields(to, f);
}

// The texts of a request come from the program, and HPACK carries every byte: what HTTP forbids would be a
// malformed request (RFC 9113 8.1.1), and on HTTP/1.1 another one.
[[gnu::cold]] bool is_valid(const request_fields& f, const char* path) noexcept {
  return method_path(path).is_valid() && http::valid_authority(f.authority) &&
         http::valid_value_characters(f.subtype) && http::valid_value_characters(f.user_agent);
}

request_fields first_fields(const call_target& target, const call_terms& terms) {
  const call_options& o = terms.options;
  const bool compresses = o.compression && available(o.compression->algorithm());
  return {target.scheme,
          terms.path,
          o.authority.empty() ? target.authority : o.authority,
          o.subtype(),
          compresses ? o.compression->algorithm() : encoding::identity,
          o.reply_encodings(),
          target.user_agent.empty() ? library_user_agent() : target.user_agent};
}

// Counts the fields that are written to it.
struct field_counter {
  std::uint64_t bytes = 0;
  void add_field(std::string_view name, std::string_view value, hpack::indexing = {}) noexcept {
    bytes += name.size() + value.size() + http::header_list::field_overhead_bytes;
  }
};

template <class To>
[[gnu::noinline]] void add_metadata(To& to, const call_terms& terms, const observed_attempt* more) {
  const auto add = [&](std::string_view name, std::string_view value) { to.add_field(name, value); };
  // What the attempt sets itself, usually the span of a trace.
  const auto is_overridden = [&](std::string_view name) { return more && more->more.find(name); };
  const auto is_replaced = [&](std::string_view name) {
    return is_overridden(name) || (more && more->replaces_trace && rpc::is_trace_key(name));
  };
  protocol::grpc::for_each_wire_field(terms.options.metadata,
                                      [&](std::string_view name, std::string_view value) {
                                        if (!is_overridden(name)) add(name, value);
                                      });
  // These values differ from call to call, so indexing them in the peer's table is useless.
  protocol::grpc::for_each_wire_field(terms.propagated, [&](std::string_view name, std::string_view value) {
    if (!is_replaced(name)) to.add_field(name, value, hpack::indexing::no_index);
  });
  if (more) protocol::grpc::for_each_wire_field(more->more, add);
}

template <class To>
void add_other_fields(To& to, const call_terms& terms, unsigned previous_attempts) {
  if (terms.deadline != never) {
    const auto text = protocol::grpc::format_timeout(terms.deadline - terms.owner_loop->now());
    to.add_field(protocol::grpc::timeout_header, text.view(), hpack::indexing::name_only);
  }
  if (previous_attempts > 0) {
    const char digit = static_cast<char>('0' + previous_attempts);
    to.add_field(protocol::grpc::previous_attempts_header, std::string_view(&digit, 1));
  }
}

// Only metadata make headers large.
[[gnu::noinline]] status check_size(const transport::exchange& to, const request_fields& first,
                                    const call_terms& terms, unsigned previous_attempts,
                                    const observed_attempt* more) {
  if (to.is_http1()) return {};  // whose servers do not state a limit
  const std::size_t bytes_max = to.peer_header_list_bytes();
  if (bytes_max == std::numeric_limits<std::uint32_t>::max()) return {};
  field_counter all;
  protocol::grpc::add_request_fields(all, first);
  add_other_fields(all, terms, previous_attempts);
  add_metadata(all, terms, more);
  if (all.bytes <= bytes_max) [[likely]]
    return {};
  return status::resource_exhausted("the call's request headers have " + std::to_string(all.bytes) +
                                    " bytes of fields, and the server accepts " + std::to_string(bytes_max) +
                                    ": send less metadata, or send it in a message");
}

// Returns why is_valid() is false.
[[gnu::cold]] status invalid_headers(const call_target& target, const call_terms& terms) noexcept {
  status why;
  const auto explain = [&](std::string_view name, std::string_view text, std::string_view rule) {
    std::string message(name);
    message.append(" \"").append(base::printable(text)).append("\" is not valid in HTTP: ").append(rule);
    why = status::internal(message);
  };
  const auto find = [&] {
    const request_fields f = first_fields(target, terms);
    if (!method_path(terms.path.data()).is_valid())
      return explain("the method path", f.path,
                     "write \"/package.Service/Method\" in printable ASCII without spaces and \"#\"");
    if (!http::valid_authority(f.authority))
      return explain("the authority", f.authority,
                     "write host:port in printable ASCII without spaces and \"@\"");
    if (!http::valid_value_characters(f.subtype))
      return explain("call_options::content_subtype", f.subtype, "it has a line end or a zero");
    explain("channel_options::user_agent", f.user_agent, "it has a line end or a zero");
  };
  if (!base::if_memory_allows(find)) return rpc::out_of_memory();
  return why;
}

// The server has proved the name of the channel. Another one must be in its certificate as well (gRFC A81).
[[gnu::cold]] status check_authority(const transport::exchange& to, std::string_view authority) {
  if (to.covers(authority)) return {};
  std::string names;
  for (const peer_identity& i : to.auth()->identities())
    if (i.type() == peer_identity::kind::dns_name || i.type() == peer_identity::kind::ip_address)
      names.append(names.empty() ? "" : ", ").append(base::printable(i.value()));
  return status::unavailable("the server's certificate is not valid for \"" + base::printable(authority) +
                             "\", the authority of the call, but for " + (names.empty() ? "no name" : names) +
                             ": use one of its names, or issue one with a subjectAltName for that host");
}

}  // namespace

const std::string& library_user_agent() {
  // Never destroyed, as the other objects with static lifetime that calls use: the background runtime may
  // still run them when the program exits.
  static const auto& text = *new std::string(std::string("grpc-c++20-coracle/") + version_text);
  return text;
}

status send_client_headers(transport::exchange& to, const call_target& target, const call_terms& terms,
                           unsigned previous_attempts, const observed_attempt* more) {
  const request_fields first = first_fields(target, terms);
  // What is kept has the authority of the channel.
  const bool is_usual = terms.options.authority.empty() && !target.is_rewritten;
  repeated_headers::sent_fields* const kept = is_usual ? repeated_headers::place_of(to, first) : nullptr;
  const bool is_kept = kept && kept->is_of(first);
  // What was sent before is valid.
  if (!is_kept) [[unlikely]] {
    if (!is_valid(first, terms.path.data())) return invalid_headers(target, terms);
    if (!is_usual)
      if (status refused = check_authority(to, first.authority); !refused.ok()) return refused;
  }
  const bool has_metadata = !terms.options.metadata.empty() || !terms.propagated.empty() || more;
  if (has_metadata) {
    status refused = check_size(to, first, terms, previous_attempts, more);
    if (!refused.ok()) [[unlikely]]
      return refused;
  }
  const bool is_whole = is_kept && terms.deadline == never && previous_attempts == 0 && !has_metadata;
  if (!is_whole || !to.send_fields(kept->encoded)) {
    if (!to.begin_headers()) return {};
    if (!is_kept || !to.add_fields(kept->encoded)) [[unlikely]] {
      add_encoded(to, first);
      // The encoding is kept if it does not change the dynamic table, which is the case from the second
      // request on.
      if (kept) kept->keep(to, first);
    }
    add_other_fields(to, terms, previous_attempts);
    if (has_metadata) add_metadata(to, terms, more);
    to.end_headers(false);
  }
  if (!to) [[unlikely]]
    return {};  // memory was exhausted, and the attempt has ended
  base::event_ring& events = to.events().ring();
  // An entry that could not be kept has no name.
  const base::method_name& name = kept && kept->name ? *kept->name : events.name_of(terms.path.data());
  events.attempt_began(to.events().number(), to.has_target() ? to.recorded_stream() : 0, terms.number, name,
                       previous_attempts);
  return {};
}

}  // namespace coracle::client
