// xds: coracle xds prints what control planes have configured in a running program (CSDS, gRFC A40).
#include "tools/commands.hpp"
#include "tools/endpoint.hpp"
#include "tools/failure.hpp"
#include "tools/option_names.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"
#include "tools/utc_text.hpp"

#include "xds/wire/status.pb.h"

#include <coracle/client.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tools {

namespace {

namespace csds = coracle::xds::wire;
using status_json = nlohmann::ordered_json;

constexpr duration status_time = std::chrono::seconds(10);

// envoy.admin.v3.ClientResourceStatus
std::string_view state_name(std::int32_t number) {
  static constexpr std::array<std::string_view, 7> names{
      "UNKNOWN", "REQUESTED", "DOES_NOT_EXIST", "ACKED", "NACKED", "RECEIVED_ERROR", "TIMEOUT"};
  return number >= 0 && static_cast<std::size_t>(number) < names.size()
             ? names[static_cast<std::size_t>(number)]
             : names.front();
}

// The last part of "type.googleapis.com/envoy.config.listener.v3.Listener".
std::string_view short_type(std::string_view url) { return url.substr(url.find_last_of("./") + 1); }

std::string time_text(const google::protobuf::Timestamp& t) {
  constexpr std::int64_t seconds_max = 253'402'300'799;  // the end of the year 9999, protobuf's limit
  if (t.seconds() < 0 || t.seconds() > seconds_max) return "(invalid time)";
  const std::chrono::system_clock::time_point when{std::chrono::seconds(t.seconds())};
  const std::string text = utc_text(when, "%Y-%m-%dT%H:%M:%S");
  return text.substr(0, text.find('.')) + "Z";
}

// The texts come from the program, and from its control planes.
status_json json_of(const csds::GenericXdsConfig& r) {
  status_json made{
      {"type", short_type(r.type_url())},
      {"name", r.name()},
      {"state", state_name(r.client_status())},
      {"version", r.version_info()},
      {"updated", r.has_last_updated() ? status_json(time_text(r.last_updated())) : status_json()},
      {"error", nullptr}};
  if (r.has_error_state()) {
    const csds::UpdateFailureState& e = r.error_state();
    made["error"] = {{"text", e.details()},
                     {"version", e.version_info()},
                     {"time", e.has_last_update_attempt() ? status_json(time_text(e.last_update_attempt()))
                                                          : status_json()}};
  }
  return made;
}

status_json json_of(const csds::ClientStatusResponse& all) {
  status_json clients = status_json::array();
  for (const csds::ClientConfig& c : all.config()) {
    status_json resources = status_json::array();
    for (const csds::GenericXdsConfig& r : c.generic_xds_configs()) resources.push_back(json_of(r));
    clients.push_back({{"target", c.client_scope()},
                       {"node", {{"id", c.node().id()}, {"cluster", c.node().cluster()}}},
                       {"resources", std::move(resources)}});
  }
  return {{"clients", std::move(clients)}};
}

std::string padded(std::string_view text, std::size_t width) {
  std::string made = terminal_line(text);
  made.resize(std::max(made.size(), width), ' ');
  return made;
}

std::string text_of(const csds::ClientConfig& c) {
  std::string text = terminal_line(c.client_scope().empty() ? "a client without a target" : c.client_scope());
  if (!c.node().id().empty()) text += ", node " + terminal_line(c.node().id());
  text += '\n';
  std::size_t of_types = 0;
  std::size_t of_names = 0;
  for (const csds::GenericXdsConfig& r : c.generic_xds_configs()) {
    of_types = std::max(of_types, short_type(r.type_url()).size());
    of_names = std::max(of_names, terminal_line(r.name()).size());
  }
  constexpr std::size_t of_states = 14;  // DOES_NOT_EXIST
  constexpr std::size_t names_max = 60;
  constexpr std::size_t types_max = 40;
  for (const csds::GenericXdsConfig& r : c.generic_xds_configs()) {
    text += "  " + padded(state_name(r.client_status()), of_states) + "  ";
    text += padded(short_type(r.type_url()), std::min(of_types, types_max)) + "  ";
    if (r.has_last_updated()) {
      text += padded(r.name(), std::min(of_names, names_max)) + "  version ";
      text += terminal_line(r.version_info()) + " since " + time_text(r.last_updated());
    } else {
      text += terminal_line(r.name());
    }
    text += '\n';
    if (!r.has_error_state()) continue;
    const csds::UpdateFailureState& e = r.error_state();
    text += "    ";
    if (!e.version_info().empty()) text += "version " + terminal_line(e.version_info()) + ": ";
    text += terminal_line(e.details()) + "\n";
  }
  return text;
}

struct mesh_status {
  endpoint where;
  bool as_json = false;

  int run() {
    runtime on(1);
    const channel server(on, where.address(), where.credentials(), where.options());
    const generic_stub any(server);
    csds::ClientStatusRequest request;
    request.set_exclude_resource_contents(true);
    call_options options;
    options.timeout = where.timeout_or(status_time);
    const auto reply = sync_wait(any.unary<csds::ClientStatusResponse>(
        "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus", request, options));
    if (!reply.ok()) {
      const status& why = reply.status();
      throw call_failure(why.code(), with_option_names(terminal_text(why.to_string())),
                         why.code() == status_code::unimplemented
                             ? "the server has no CSDS service: coracle::csds_service is that of this library"
                             : where.hint(why));
    }
    if (as_json)
      print(terminal_json(json_of(*reply).dump(2, ' ', false, status_json::error_handler_t::replace)) + "\n");
    else print_text(*reply);
    return 0;
  }

  static void print_text(const csds::ClientStatusResponse& all) {
    if (all.config().empty()) return print("no channel and no listener has a control plane\n");
    std::string text;
    for (const csds::ClientConfig& c : all.config()) text += (text.empty() ? "" : "\n") + text_of(c);
    print(text);
  }
};

}  // namespace

void add_xds(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("xds",
                         "Print the resources that a program has from control planes, with their versions, "
                         "states and the reasons of rejections (CSDS)");
  const auto it = std::make_shared<mesh_status>();
  it->where.add_to(*command);
  command->add_flag("--json", it->as_json, "Print JSON");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
