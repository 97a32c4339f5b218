#include "adapters/grpcpp/src/values/arguments.hpp"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include "coracle/base/log.hpp"

#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

namespace grpc::internal {
namespace {

using coracle::duration;

// Many programs set arguments that have no meaning here; each is named once.
void name_once(const std::string& argument, const char* why) {
  static std::mutex& changing = *new std::mutex;
  static auto& named = *new std::set<std::string>;
  const std::lock_guard lock(changing);
  if (!named.insert(argument).second) return;
  internal::library_log()
      .in(coracle::log_room::adapters)
      .warning("grpc++: the argument ", argument, " ", why);
}

// -1: no limit.
std::uint32_t bytes_of(int n) noexcept {
  return n < 0 ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>(n);
}
// The largest number: never.
duration time_of(int ms) noexcept {
  return ms == std::numeric_limits<int>::max() ? duration::max() : std::chrono::milliseconds(ms);
}
coracle::compression compression_of_number(int n) {
  return compression_of(static_cast<grpc_compression_algorithm>(n));
}

coracle::encoding_set encodings_of(int bits) {
  coracle::encoding_set all = coracle::encoding_set::all();
  std::uint32_t kept = all.bits();
  const auto remove = [&](grpc_compression_algorithm algorithm, coracle::encoding e) {
    if (!(bits & (1 << algorithm))) kept &= ~(std::uint32_t{1} << static_cast<unsigned>(e));
  };
  remove(GRPC_COMPRESS_DEFLATE, coracle::encoding::deflate);
  remove(GRPC_COMPRESS_GZIP, coracle::encoding::gzip);
  return coracle::encoding_set::from_bits(kept);
}

void answer_web(coracle::server_options& to, int on) {
  to.web.grpc_web = to.web.connect = on != 0;
  if (on != 0) to.codecs = {&coracle::json_codec()};
}

// "https://one.example, https://another.example", or "*".
void set_web_origins(coracle::server_options& to, const std::string& list) {
  if (list == "*") {
    to.web.any_origin = true;
    return;
  }
  std::istringstream names(list);
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) to.web.allowed_origins.push_back(name);
  }
}

template <class To>
using setters = std::map<std::string, std::function<void(To&, const ChannelArguments::value&)>, std::less<>>;

// A setter that takes a number, or a text; a value of the other type does nothing, as in grpc++.
template <class To, class F>
auto number(F f) {
  return [f](To& to, const ChannelArguments::value& v) {
    if (const int* const n = std::get_if<int>(&v)) f(to, *n);
  };
}
template <class To, class F>
auto text(F f) {
  return [f](To& to, const ChannelArguments::value& v) {
    if (const std::string* const s = std::get_if<std::string>(&v)) f(to, *s);
  };
}

template <class To>
void apply_all(const setters<To>& known, const ChannelArguments& from, To& to) {
  for (const auto& [name, value] : from.values()) {
    if (std::holds_alternative<void*>(value)) continue;  // for plugins, or see server_plugins.cpp
    const auto found = known.find(name);
    if (found == known.end()) name_once(name, "has no effect here");
    else found->second(to, value);
  }
}

void set_policy(channel_settings& to, const std::string& name) {
  if (name == "round_robin") to.options.balance = coracle::balancing::round_robin();
  else if (name == "pick_first") to.options.balance = coracle::balancing::pick_first();
  else
    name_once(std::string(GRPC_ARG_LB_POLICY_NAME) + "=" + name, "names a policy that does not exist here");
}

void set_service_config(channel_settings& to, const std::string& json) {
  auto parsed = coracle::service_config::parse(json);
  if (parsed) to.options.service_config = *std::move(parsed);
  else to.invalid = parsed.status();
}

const setters<channel_settings>& of_channels() {
  using to = channel_settings;
  static const auto& all = *new setters<channel_settings>{
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
       number<to>([](to& s, int n) { s.options.calls.max_receive_bytes = bytes_of(n); })},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH,
       number<to>([](to& s, int n) { s.options.calls.max_send_bytes = bytes_of(n); })},
      {GRPC_ARG_KEEPALIVE_TIME_MS, number<to>([](to& s, int n) { s.options.keepalive.time = time_of(n); })},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
       number<to>([](to& s, int n) { s.options.keepalive.timeout = time_of(n); })},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
       number<to>([](to& s, int n) { s.options.keepalive.without_calls = n != 0; })},
      {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS,
       number<to>([](to& s, int n) { s.options.idle_timeout = time_of(n); })},
      {GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS,
       number<to>([](to& s, int n) { s.options.resolve_pause = time_of(n); })},
      {GRPC_ARG_ENABLE_RETRIES, number<to>([](to& s, int n) { s.options.retries = n != 0; })},
      {GRPC_ARG_ENABLE_HTTP_PROXY, number<to>([](to& s, int n) {
         if (n == 0) s.options.proxy = "";
       })},
      {GRPC_ARG_HTTP_PROXY, text<to>([](to& s, const std::string& v) { s.options.proxy = v; })},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
       number<to>([](to& s, int n) { s.options.calls.compression = compression_of_number(n); })},
      {GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
       number<to>([](to& s, int n) { s.options.calls.accepted_encodings = encodings_of(n); })},
      {GRPC_ARG_DEFAULT_AUTHORITY, text<to>([](to& s, const std::string& v) { s.options.authority = v; })},
      {GRPC_ARG_PRIMARY_USER_AGENT_STRING,
       text<to>([](to& s, const std::string& v) { s.options.user_agent = v; })},
      {GRPC_ARG_LB_POLICY_NAME, text<to>(set_policy)},
      {GRPC_ARG_SERVICE_CONFIG, text<to>(set_service_config)},
      {GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
       text<to>([](to& s, const std::string& v) { s.tls_target_name = v; })},
      {GRPC_ARG_TEST_ONLY_DO_NOT_USE_IN_PROD_XDS_BOOTSTRAP_CONFIG,
       text<to>([](to& s, const std::string& v) { s.xds_bootstrap = v; })},
  };
  return all;
}

const setters<coracle::server_options>& of_servers() {
  using to = coracle::server_options;
  static const auto& all = *new setters<coracle::server_options>{
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
       number<to>([](to& s, int n) { s.max_receive_bytes = bytes_of(n); })},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, number<to>([](to& s, int n) { s.max_send_bytes = bytes_of(n); })},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, number<to>([](to& s, int n) { s.limits.streams = bytes_of(n); })},
      {GRPC_ARG_MAX_METADATA_SIZE,
       number<to>([](to& s, int n) { s.limits.header_list_bytes = bytes_of(n); })},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
       number<to>([](to& s, int n) { s.limits.handshake_time = time_of(n); })},
      {GRPC_ARG_KEEPALIVE_TIME_MS, number<to>([](to& s, int n) { s.keepalive.time = time_of(n); })},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, number<to>([](to& s, int n) { s.keepalive.timeout = time_of(n); })},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
       number<to>([](to& s, int n) { s.client_pings.without_calls = n != 0; })},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
       number<to>([](to& s, int n) { s.client_pings.min_interval = time_of(n); })},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, number<to>([](to& s, int n) { s.max_connection_idle = time_of(n); })},
      {GRPC_ARG_MAX_CONNECTION_AGE_MS,
       number<to>([](to& s, int n) { s.max_connection_age.max = time_of(n); })},
      {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
       number<to>([](to& s, int n) { s.max_connection_age.grace = time_of(n); })},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
       number<to>([](to& s, int n) { s.compression = compression_of_number(n); })},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL, number<to>([](to& s, int n) {
         s.compression =
             compression_of(n == GRPC_COMPRESS_LEVEL_NONE ? GRPC_COMPRESS_NONE : GRPC_COMPRESS_GZIP);
       })},
      {GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
       number<to>([](to& s, int n) { s.accepted_encodings = encodings_of(n); })},
      {CORACLE_ARG_WEB, number<to>(answer_web)},
      {CORACLE_ARG_WEB_ORIGINS, text<to>(set_web_origins)},
      {CORACLE_ARG_CALLBACK_THREADS, number<to>([](to&, int) {})},  // of server_core
      // Of XdsServerBuilder.
      {GRPC_ARG_SERVER_CONFIG_CHANGE_DRAIN_GRACE_TIME_MS, number<to>([](to&, int) {})},
      {GRPC_ARG_TEST_ONLY_DO_NOT_USE_IN_PROD_XDS_BOOTSTRAP_CONFIG, text<to>([](to&, const std::string&) {})},
      {GRPC_ARG_ALLOW_REUSEPORT, number<to>([](to& s, int n) { s.reuse_port = n != 0; })},
  };
  return all;
}

}  // namespace

channel_settings::channel_settings(const ChannelArguments& from) { apply_all(of_channels(), from, *this); }

void apply(const ChannelArguments& from, coracle::server_options& to) { apply_all(of_servers(), from, to); }

}  // namespace grpc::internal
