#include "mesh_service.hpp"

#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace interop {

namespace {

constexpr std::string_view behavior_key = "rpc-behavior";
constexpr std::string_view attempts_key = "grpc-previous-rpc-attempts";

std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The number after the prefix; an error if there is none.
coracle::result<int> number_after(std::string_view prefix, std::string_view text) {
  if (const auto value = number_in(text.substr(prefix.size()))) return *value;
  return coracle::status::invalid_argument("rpc-behavior '" + std::string(text) + "' has no number after '" +
                                           std::string(prefix) + "'");
}

// Of all pairs of the metadata, each of which may have several, with commas between them.
std::vector<std::string> behaviors_of(const coracle::metadata& of) {
  std::vector<std::string> all;
  for (const auto& [key, values] : of) {
    if (key != behavior_key) continue;
    std::string_view rest = values;
    while (!rest.empty()) {
      std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      while (one.starts_with(' ')) one.remove_prefix(1);
      if (!one.empty()) all.emplace_back(one);
    }
  }
  return all;
}

// A status other than OK is that of the call.
coracle::task<coracle::status> behave(coracle::server_context& context, std::string_view host) {
  constexpr std::string_view hostname = "hostname=", sleep = "sleep-", keep_open = "keep-open",
                             error = "error-code-", retried = "succeed-on-retry-attempt-";
  const auto all = behaviors_of(context.metadata());
  for (std::string_view what : all) {
    if (what.starts_with(hostname)) {
      const auto space = what.find(' ');
      if (space == what.npos)
        co_return coracle::status::invalid_argument("rpc-behavior has nothing after 'hostname=NAME '");
      if (what.substr(hostname.size(), space - hostname.size()) != host) continue;
      what.remove_prefix(space + 1);
    }
    if (what.starts_with(sleep)) {
      const auto seconds = number_after(sleep, what);
      if (!seconds.ok()) co_return seconds.status();
      // sleeps on purpose: the client asks for it
      co_await coracle::sleep_for(std::chrono::seconds(*seconds));
    } else if (what.starts_with(keep_open)) {
      // sleeps on purpose: until the client gives up, which stops the handler
      while (true) co_await coracle::sleep_for(std::chrono::hours(1));
    } else if (what.starts_with(error)) {
      const auto code = number_after(error, what);
      if (!code.ok()) co_return code.status();
      constexpr int codes = 17;
      co_return coracle::status(
          *code < codes ? static_cast<coracle::status_code>(*code) : coracle::status_code::unknown,
          "as rpc-behavior asks for: " + std::string(what));
    } else if (what.starts_with(retried)) {
      const auto wanted = number_after(retried, what);
      if (!wanted.ok()) co_return wanted.status();
      const auto before = context.metadata().find(attempts_key);
      if (before && number_in(*before) == *wanted) co_return coracle::ok;
    }
  }
  co_return coracle::ok;
}

}  // namespace

coracle::reply<pb::Empty> mesh_service::EmptyCall(coracle::server_context& context, const pb::Empty&) {
  context.initial_metadata().add("hostname", host_);
  return pb::Empty();
}

coracle::reply<pb::SimpleResponse> mesh_service::UnaryCall(coracle::server_context& context,
                                                           const pb::SimpleRequest& request) {
  auto behavior = behave(context, host_);
  const coracle::status wanted = co_await std::move(behavior);
  if (!wanted.ok()) co_return wanted;
  context.initial_metadata().add("hostname", host_);
  pb::SimpleResponse response;
  response.set_hostname(host_);
  if (request.fill_server_id()) response.set_server_id(id_);
  constexpr int payload_bytes_max = 64 << 20;
  if (request.response_size() > 0 && request.response_size() <= payload_bytes_max)
    response.mutable_payload()->mutable_body()->assign(static_cast<std::size_t>(request.response_size()),
                                                       '\0');
  co_return response;
}

}  // namespace interop
