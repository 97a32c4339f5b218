#include "options.hpp"

#include "coracle/net/address.hpp"
#include "coracle/tls.hpp"

#include "failure.hpp"
#include "runtimes.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::c_abi {
namespace {

// --- values

[[noreturn]] void refuse(std::string_view value, const char* expected) {
  invalid("'" + std::string(value) + "' is not " + expected);
}

template <class Number>
void set_number(Number& to, std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
  if (error != std::errc() || end != value.data() + value.size() || value.empty())
    refuse(value, "a whole number in range");
}
void set(std::uint32_t& to, std::string_view value) { set_number(to, value); }
void set(std::size_t& to, std::string_view value) { set_number(to, value); }
void set(std::string& to, std::string_view value) { to = value; }
void set(bool& to, std::string_view value) {
  if (value != "true" && value != "false") refuse(value, "true or false");
  to = value == "true";
}
void set(duration& to, std::string_view value) {
  if (value == "infinite") {
    to = duration::max();
    return;
  }
  struct unit {
    std::string_view name;
    duration length;
  };
  using namespace std::chrono_literals;
  static constexpr unit units[] = {{"ns", 1ns}, {"us", 1us},  {"ms", 1ms},
                                   {"s", 1s},   {"min", 60s}, {"h", 3600s}};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view name(end, static_cast<std::size_t>(value.data() + value.size() - end));
  const auto* const found = std::ranges::find(units, name, &unit::name);
  if (error != std::errc() || found == std::end(units) || number < 0 ||
      number > duration::max().count() / found->length.count())
    refuse(value, "a duration: a whole number with ns, us, ms, s, min or h, or 'infinite'");
  to = number * found->length;
}
void set(std::chrono::seconds& to, std::string_view value) {
  duration d{};
  set(d, value);
  to = std::chrono::duration_cast<std::chrono::seconds>(d);
}
void set(compression& to, std::string_view value) { to = parse_compression(value); }
std::vector<std::string> list_of(std::string_view value) {
  std::vector<std::string> all;
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    all.emplace_back(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return all;
}
void set(std::vector<std::string>& to, std::string_view value) { to = list_of(value); }
void set(encoding_set& to, std::string_view value) {
  to = encoding_set();
  for (const std::string& name : list_of(value)) {
    const auto e = encoding_named(name);
    if (!e) refuse(name, "an encoding: identity, deflate, gzip, zstd, br, snappy or lz4");
    to = encoding_set::from_bits(to.bits() | encoding_set({*e}).bits());
  }
}
template <class T>
void set(std::optional<T>& to, std::string_view value) {
  set(to.emplace(), value);
}
template <class Enum>
struct choice {
  std::string_view name;
  Enum value;
};
template <class Enum, std::size_t N>
void choose(Enum& to, std::string_view value, const choice<Enum> (&choices)[N]) {
  std::string names;
  for (const auto& c : choices) {
    if (c.name == value) {
      to = c.value;
      return;
    }
    names.append(names.empty() ? "" : ", ").append(c.name);
  }
  refuse(value, ("one of " + names).c_str());
}

// --- tables: a name, and what it sets

template <class Settings>
struct entry {
  const char* name;
  void (*apply)(Settings&, std::string_view);
};

template <class Settings>
void apply(Settings& to, const coracle_option* options, std::size_t count,
           std::span<const entry<Settings>> table, const char* kind,
           bool (*other)(Settings&, std::string_view, std::string_view) = nullptr) {
  if (!options && count) invalid("options is a null pointer, but its count is not 0");
  for (const coracle_option& o : std::span(options, count)) {
    if (!o.name || !o.value) invalid(std::string("an option of a ") + kind + " has no name or no value");
    const auto found = std::ranges::find_if(
        table, [&](const entry<Settings>& e) { return std::string_view(e.name) == o.name; });
    try {
      if (found != table.end()) {
        found->apply(to, o.value);
        continue;
      }
      if (other && other(to, o.name, o.value)) continue;
    } catch (const failure& f) {
      invalid(std::string("the option ") + o.name + " of a " + kind + ": " + f.what());
    }
    std::string names;
    for (const auto& e : table) names.append(names.empty() ? "" : ", ").append(e.name);
    invalid(std::string("a ") + kind + " has no option " + o.name + "; it has " + names);
  }
}

#define CORACLE_OPTION(name, member) {name, [](auto& s, std::string_view value) { set(s.member, value); }}

constexpr entry<runtime_options> runtime_table[] = {
    CORACLE_OPTION("loops", loops),
    {"backend",
     [](runtime_options& s, std::string_view value) {
       choose<backend_choice>(s.backend, value,
                              {{"auto", backend_choice::automatic},
                               {"io_uring", backend_choice::io_uring},
                               {"epoll", backend_choice::epoll}});
     }},
};

struct tls_settings {
  std::optional<bool> secure;  // of the option credentials
  std::vector<tls::pem_source> cas;
  std::optional<tls::pem_source> certificate;
  std::optional<tls::pem_source> key;
  std::optional<duration> handshake_timeout;
  bool any = false;

  void require_choice(const char* kind) const {
    if (!secure) invalid(std::string("a ") + kind + " needs the option credentials: insecure or tls");
    if (!*secure && any) invalid(std::string("the options tls.* of a ") + kind + " need credentials=tls");
  }
  [[nodiscard]] std::optional<tls::key_pair> pair() const {
    if (certificate.has_value() != key.has_value())
      invalid("tls.certificate and tls.key (or their _file) come together");
    if (!certificate) return std::nullopt;
    return tls::key_pair(*certificate, *key);
  }
};

template <class Settings>
void set_credentials(Settings& s, std::string_view value) {
  choose<std::optional<bool>>(s.tls.secure, value, {{"insecure", false}, {"tls", true}});
}
template <class Settings, std::optional<tls::pem_source> tls_settings::* Member, bool File>
void set_pem(Settings& s, std::string_view value) {
  s.tls.any = true;
  s.tls.*Member =
      File ? tls::pem_source::file(std::string(value)) : tls::pem_source::text(std::string(value));
}
template <class Settings, bool File>
void add_ca(Settings& s, std::string_view value) {
  s.tls.any = true;
  s.tls.cas.push_back(File ? tls::pem_source::file(std::string(value))
                           : tls::pem_source::text(std::string(value)));
}
template <class Settings>
void set_handshake_timeout(Settings& s, std::string_view value) {
  s.tls.any = true;
  set(s.tls.handshake_timeout, value);
}

struct channel_input {
  channel_options options;
  tls_settings tls;
  std::string target_name;
  bool verify = true;
};

constexpr entry<channel_input> channel_table[] = {
    {"credentials", &set_credentials<channel_input>},
    {"tls.ca", &add_ca<channel_input, false>},
    {"tls.ca_file", &add_ca<channel_input, true>},
    {"tls.certificate", &set_pem<channel_input, &tls_settings::certificate, false>},
    {"tls.certificate_file", &set_pem<channel_input, &tls_settings::certificate, true>},
    {"tls.key", &set_pem<channel_input, &tls_settings::key, false>},
    {"tls.key_file", &set_pem<channel_input, &tls_settings::key, true>},
    {"tls.target_name",
     [](channel_input& s, std::string_view value) {
       s.tls.any = true;
       s.target_name = value;
     }},
    {"tls.verify",
     [](channel_input& s, std::string_view value) {
       s.tls.any = true;
       set(s.verify, value);
     }},
    {"tls.handshake_timeout", &set_handshake_timeout<channel_input>},

    CORACLE_OPTION("calls.timeout", options.calls.timeout),
    CORACLE_OPTION("calls.max_receive_bytes", options.calls.max_receive_bytes),
    CORACLE_OPTION("calls.max_send_bytes", options.calls.max_send_bytes),
    CORACLE_OPTION("calls.compression", options.calls.compression),
    CORACLE_OPTION("calls.accepted_encodings", options.calls.accepted_encodings),
    CORACLE_OPTION("calls.wait_for_ready", options.calls.wait_for_ready),
    {"calls.bearer_token",
     [](channel_input& s, std::string_view value) {
       s.options.calls.credentials = call_credentials::bearer(value);
     }},
    CORACLE_OPTION("calls.content_subtype", options.calls.content_subtype),

    CORACLE_OPTION("user_agent", options.user_agent),
    {"protocol",
     [](channel_input& s, std::string_view value) {
       choose<call_protocol>(s.options.protocol, value,
                             {{"grpc", call_protocol::grpc},
                              {"grpc_web", call_protocol::grpc_web},
                              {"grpc_web_text", call_protocol::grpc_web_text},
                              {"connect", call_protocol::connect}});
     }},
    {"http_version",
     [](channel_input& s, std::string_view value) {
       choose<http_version>(s.options.http_version, value,
                            {{"http2", http_version::http2}, {"http1", http_version::http1}});
     }},
    CORACLE_OPTION("connect_get", options.connect_get),
    CORACLE_OPTION("connect_get_target_bytes_max", options.connect_get_target_bytes_max),
    CORACLE_OPTION("resolve_pause", options.resolve_pause),
    {"balance",
     [](channel_input& s, std::string_view value) {
       choose<balancing>(s.options.balance, value,
                         {{"pick_first", balancing::pick_first()},
                          {"shuffled_pick_first", balancing::pick_first(true)},
                          {"round_robin", balancing::round_robin()},
                          {"least_request", balancing::least_request()},
                          {"weighted", balancing::weighted()}});
     }},
    CORACLE_OPTION("authority", options.authority),
    {"service_config",
     [](channel_input& s, std::string_view value) {
       auto parsed = service_config::parse(value);
       if (!parsed) invalid(parsed.status().to_string());
       s.options.service_config = *std::move(parsed);
     }},
    CORACLE_OPTION("retries", options.retries),
    CORACLE_OPTION("idle_timeout", options.idle_timeout),
    CORACLE_OPTION("streams_per_connection", options.streams_per_connection),
    CORACLE_OPTION("connections_per_server", options.connections_per_server),
    CORACLE_OPTION("http1_connections_per_server", options.http1_connections_per_server),
    CORACLE_OPTION("http1_idle_time", options.http1_idle_time),
    CORACLE_OPTION("keepalive.time", options.keepalive.time),
    CORACLE_OPTION("keepalive.timeout", options.keepalive.timeout),
    CORACLE_OPTION("keepalive.without_calls", options.keepalive.without_calls),
    {"local_address",
     [](channel_input& s, std::string_view value) {
       auto parsed = net::address::parse(value);
       if (!parsed) invalid(parsed.status().to_string());
       s.options.local_address = *std::move(parsed);
     }},
    CORACLE_OPTION("health_check", options.health_check),
    CORACLE_OPTION("proxy", options.proxy),
    CORACLE_OPTION("proxy_except", options.proxy_except),
};

constexpr std::string_view metadata_prefix = "calls.metadata.";

// calls.metadata.KEY: a pair that every call sends.
bool set_metadata(channel_input& s, std::string_view name, std::string_view value) {
  if (!name.starts_with(metadata_prefix)) return false;
  name.remove_prefix(metadata_prefix.size());
  if (!s.options.calls.metadata.add(name, value))
    invalid("the key or the value is not valid metadata, or the protocol reserves the key");
  return true;
}

constexpr entry<server_options> server_table[] = {
    CORACLE_OPTION("max_receive_bytes", max_receive_bytes),
    CORACLE_OPTION("max_send_bytes", max_send_bytes),
    CORACLE_OPTION("compression", compression),
    CORACLE_OPTION("accepted_encodings", accepted_encodings),
    CORACLE_OPTION("web.grpc_web", web.grpc_web),
    CORACLE_OPTION("web.connect", web.connect),
    CORACLE_OPTION("web.require_connect_version", web.require_connect_version),
    CORACLE_OPTION("web.allowed_origins", web.allowed_origins),
    CORACLE_OPTION("web.any_origin", web.any_origin),
    CORACLE_OPTION("web.credentials", web.credentials),
    CORACLE_OPTION("web.allowed_headers", web.allowed_headers),
    CORACLE_OPTION("web.exposed_headers", web.exposed_headers),
    CORACLE_OPTION("web.preflight_max_age", web.preflight_max_age),
    CORACLE_OPTION("web.allowed_hosts", web.allowed_hosts),
    CORACLE_OPTION("web.hsts", web.hsts),
    CORACLE_OPTION("drain_grace", drain_grace),
    CORACLE_OPTION("reuse_port", reuse_port),
    CORACLE_OPTION("limits.connections", limits.connections),
    CORACLE_OPTION("limits.streams", limits.streams),
    CORACLE_OPTION("limits.calls", limits.calls),
    CORACLE_OPTION("limits.call_time", limits.call_time),
    CORACLE_OPTION("limits.header_list_bytes", limits.header_list_bytes),
    CORACLE_OPTION("limits.handshake_time", limits.handshake_time),
    CORACLE_OPTION("limits.unread_bytes", limits.unread_bytes),
    CORACLE_OPTION("limits.stall_time", limits.stall_time),
    {"memory",
     [](server_options& s, std::string_view value) {
       std::size_t bytes = 0;
       set(bytes, value);
       s.memory.emplace(bytes);
     }},
    CORACLE_OPTION("keepalive.time", keepalive.time),
    CORACLE_OPTION("keepalive.timeout", keepalive.timeout),
    CORACLE_OPTION("client_pings.min_interval", client_pings.min_interval),
    CORACLE_OPTION("client_pings.without_calls", client_pings.without_calls),
    CORACLE_OPTION("max_connection_idle", max_connection_idle),
    CORACLE_OPTION("max_connection_age.max", max_connection_age.max),
    CORACLE_OPTION("max_connection_age.grace", max_connection_age.grace),
};

struct listener_input {
  tls_settings tls;
  std::optional<tls::client_certificates> clients;
};

constexpr entry<listener_input> listener_table[] = {
    {"credentials", &set_credentials<listener_input>},
    {"tls.certificate", &set_pem<listener_input, &tls_settings::certificate, false>},
    {"tls.certificate_file", &set_pem<listener_input, &tls_settings::certificate, true>},
    {"tls.key", &set_pem<listener_input, &tls_settings::key, false>},
    {"tls.key_file", &set_pem<listener_input, &tls_settings::key, true>},
    {"tls.client_ca", &add_ca<listener_input, false>},
    {"tls.client_ca_file", &add_ca<listener_input, true>},
    {"tls.clients",
     [](listener_input& s, std::string_view value) {
       s.tls.any = true;
       choose<tls::client_certificates>(s.clients.emplace(), value,
                                        {{"ignored", tls::client_certificates::ignored},
                                         {"requested", tls::client_certificates::requested},
                                         {"required", tls::client_certificates::required}});
     }},
    {"tls.handshake_timeout", &set_handshake_timeout<listener_input>},
};

template <class Settings>
const char* name_at(std::span<const entry<Settings>> table, std::size_t index) noexcept {
  return index < table.size() ? table[index].name : nullptr;
}

template <class Credentials>
Credentials checked(Credentials c) {
  if (!c.failure().ok()) throw failure(CORACLE_INVALID_ARGUMENT, c.failure().to_string());
  end_at_exit();  // before OpenSSL's own end
  return c;
}

}  // namespace

compression parse_compression(std::string_view name) {
  const auto e = encoding_named(name);
  if (!e || !available(*e)) refuse(name, "an encoding of this library, such as gzip, zstd or identity");
  return compression(*e);
}

runtime_options parse_runtime_options(const coracle_option* options, std::size_t count) {
  runtime_options parsed;
  apply<runtime_options>(parsed, options, count, runtime_table, "runtime");
  return parsed;
}

channel_settings parse_channel_options(const coracle_option* options, std::size_t count) {
  channel_input input;
  apply<channel_input>(input, options, count, channel_table, "channel", &set_metadata);
  input.tls.require_choice("channel");
  channel_settings parsed;
  parsed.options = std::move(input.options);
  if (!*input.tls.secure) return parsed;
  tls::client_options tls;
  tls.cas = std::move(input.tls.cas);
  tls.certificate = input.tls.pair();
  tls.target_name = std::move(input.target_name);
  tls.verify = input.verify;
  if (input.tls.handshake_timeout) tls.handshake_timeout = *input.tls.handshake_timeout;
  parsed.credentials = checked(channel_credentials(tls));
  return parsed;
}

server_options parse_server_options(const coracle_option* options, std::size_t count) {
  server_options parsed;
  apply<server_options>(parsed, options, count, server_table, "server");
  return parsed;
}

server_credentials parse_listener_options(const coracle_option* options, std::size_t count) {
  listener_input input;
  apply<listener_input>(input, options, count, listener_table, "listener");
  input.tls.require_choice("listener");
  if (!*input.tls.secure) return insecure();
  tls::server_options tls;
  if (const auto pair = input.tls.pair()) tls.certificates.push_back(*pair);
  tls.client_cas = std::move(input.tls.cas);
  tls.clients = input.clients;
  if (input.tls.handshake_timeout) tls.handshake_timeout = *input.tls.handshake_timeout;
  return checked(server_credentials(tls));
}

}  // namespace coracle::c_abi

extern "C" const char* coracle_option_name(const char* kind, size_t index) {
  using namespace coracle::c_abi;
  const std::string_view name = kind ? kind : "";
  if (name == "runtime") return name_at<coracle::runtime_options>(runtime_table, index);
  if (name == "channel") return name_at<channel_input>(channel_table, index);
  if (name == "server") return name_at<coracle::server_options>(server_table, index);
  if (name == "listener") return name_at<listener_input>(listener_table, index);
  return nullptr;
}
