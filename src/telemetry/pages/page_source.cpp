#include "telemetry/pages/page_source.hpp"

#include "coracle/base/version.hpp"
#include "coracle/runtime/on.hpp"
#include "rpc/channel_registry.hpp"
#include "rpc/configured_clients.hpp"
#include "server/server_registry.hpp"
#include "server/server_state.hpp"
#include "telemetry/pages/call_rates.hpp"
#include "telemetry/pages/certificates_page.hpp"
#include "telemetry/pages/server_settings.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

using services::ordered_json;

double seconds_of(wall_time t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

// Null for an event that has not happened.
ordered_json time_json(wall_time t) {
  return t == wall_time{} ? ordered_json() : ordered_json(seconds_of(t));
}

double ms_of(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

double sum_of(const metrics_snapshot& in, std::string_view family) {
  double sum = 0;
  if (const metric_family* const f = in.find(family))
    for (const metric_point& p : f->points) sum += p.value;
  return sum;
}

ordered_json rates_json(const call_rates& of, std::size_t in_progress) {
  const auto ms = [&](double part) {
    const auto s = of.latency_s(part);
    return s ? ordered_json(*s * 1000) : ordered_json();
  };
  return {{"in_progress", in_progress},
          {"started", of.started},
          {"ended", of.ended},
          {"failed", of.failed},
          {"started_per_s", of.started_per_s},
          {"ended_per_s", of.ended_per_s},
          {"failed_per_s", of.failed_per_s},
          {"p50_ms", ms(0.5)},
          {"p90_ms", ms(0.9)},
          {"p99_ms", ms(0.99)}};
}

ordered_json connection_json(const connection_snapshot& c) {
  ordered_json to{{"id", c.id},
                  {"peer", c.peer.to_string()},
                  {"local", c.local.to_string()},
                  {"security", c.auth ? std::string(c.auth->type()) : "plaintext"},
                  {"protocol", c.auth ? std::string(c.auth->protocol()) : ""},
                  {"cipher", c.auth ? std::string(c.auth->cipher()) : ""}};
  ordered_json identities = ordered_json::array();
  if (c.auth)
    for (const peer_identity& one : c.auth->identities()) identities.push_back(one.value());
  to["identities"] = std::move(identities);
  to["streams"] = {{"open", c.streams_open},
                   {"started", c.streams_started},
                   {"succeeded", c.streams_succeeded},
                   {"failed", c.streams_failed},
                   {"last_started", time_json(c.last_stream_started)}};
  to["messages"] = {{"sent", c.messages_sent}, {"received", c.messages_received}};
  to["send_window_bytes"] = c.send_window_bytes;
  to["receive_window_bytes"] = c.receive_window_bytes;
  to["keepalives_sent"] = c.keepalives_sent;
  to["received_goaway"] = c.received_goaway ? ordered_json(*c.received_goaway) : ordered_json();
  return to;
}

std::string_view name_of(rpc::traced_event::severity level) {
  switch (level) {
    case rpc::traced_event::severity::info: return "info";
    case rpc::traced_event::severity::warning: return "warning";
    case rpc::traced_event::severity::error: return "error";
  }
  return "info";
}

ordered_json trace_json(const rpc::event_trace& trace) {
  ordered_json events = ordered_json::array();
  for (const rpc::traced_event& e : trace.latest())
    events.push_back({{"time", time_json(e.time)},
                      {"severity", name_of(e.level)},
                      {"text", e.description},
                      {"subchannel", e.subchannel ? ordered_json(e.subchannel) : ordered_json()}});
  return events;
}

template <class Snapshot>
ordered_json calls_json(const Snapshot& of) {
  return {{"started", of.calls_started},
          {"succeeded", of.calls_succeeded},
          {"failed", of.calls_failed},
          {"last_started", time_json(of.last_call_started)}};
}

ordered_json channel_json(const rpc::channel_snapshot& c) {
  ordered_json subchannels = ordered_json::array();
  for (const rpc::subchannel_snapshot& s : c.subchannels) {
    if (subchannels.size() >= page_source::subchannels_max) break;
    ordered_json connections = ordered_json::array();
    for (const connection_snapshot& one : s.connections) connections.push_back(connection_json(one));
    subchannels.push_back({{"id", s.id},
                           {"address", s.address},
                           {"state", s.state},
                           {"calls", calls_json(s)},
                           {"connections", std::move(connections)},
                           {"events", trace_json(s.trace)}});
  }
  return {{"id", c.id},
          {"target", c.target},
          {"state", c.state},
          {"calls", calls_json(c)},
          {"subchannel_count", c.subchannels.size()},
          {"subchannels", std::move(subchannels)},
          {"events", trace_json(c.trace)}};
}

// `left` is how many more policies there may be.
ordered_json policies_json(const rpc::policy_outline& of, std::size_t& left) {
  ordered_json children = ordered_json::array();
  for (const rpc::policy_outline& each : of.children) {
    if (left == 0) break;
    --left;
    children.push_back(policies_json(each, left));
  }
  return {{"name", of.name}, {"detail", of.detail}, {"children", std::move(children)}};
}

ordered_json configured_json(const rpc::configured_client& c) {
  ordered_json resources = ordered_json::array();
  for (const rpc::configured_resource& r : c.resources)
    resources.push_back({{"type", r.type},
                         {"name", r.name},
                         {"state", r.state},
                         {"version", r.version},
                         {"updated", time_json(r.updated)},
                         {"error", r.error},
                         {"failed_version", r.failed_version}});
  std::size_t left = page_source::policies_max;
  ordered_json policies = c.policies ? policies_json(*c.policies, left) : ordered_json();
  return {{"target", c.target},
          {"node", c.node},
          {"resource_count", c.resource_count},
          {"resources", std::move(resources)},
          {"policies", std::move(policies)},
          {"policies_cut", left == 0}};
}

task<> add_calls(const calls_in_progress& from, loop& here, calls_listing& to) {
  from.add_to(to, here);
  co_return;
}

task<> cancel_on(const calls_in_progress& in, loop& here, std::uint64_t id, bool& done) {
  done = in.cancel(here, id);
  co_return;
}

// Where the tasks of a loop wait, one line per task; awaited tasks stand below their awaiters.
task<ordered_json> tasks_of(loop& here) {
  std::string text = here.tasks().describe();
  const bool cut = text.size() > page_source::tasks_bytes_max;
  if (cut) text.resize(text.rfind('\n', page_source::tasks_bytes_max) + 1);
  co_return ordered_json{{"loop", here.index()}, {"text", std::move(text)}, {"cut", cut}};
}

}  // namespace

task<services::ordered_json> page_source::page(std::string_view name) {
  const auto alive = shared_from_this();
  if (name == "overview") co_return co_await overview();
  if (name == "connections") co_return co_await connections();
  if (name == "channels") co_return co_await channels();
  if (name == "calls") co_return co_await calls();
  if (name == "loops") co_return co_await loops();
  if (name == "memory") co_return co_await memory();
  if (name == "limits") co_return co_await limits();
  if (name == "xds") co_return co_await control_planes();
  if (name == "certificates") co_return certificates();
  if (name == "configuration") co_return configuration();
  if (name == "log_levels") co_return log_levels();
  if (name == "version") co_return version();
  co_return json();
}

task<std::optional<std::string>> page_source::rpcz(std::string method) {
  const auto alive = shared_from_this();
  co_return co_await recorded_.take(rt(), std::move(method));
}

task<calls_listing> page_source::list_calls() {
  calls_listing all;
  for (std::size_t i = 0; i < rt().size(); ++i) co_await on(rt().at(i), add_calls(*calls_, rt().at(i), all));
  std::ranges::sort(all.oldest, std::ranges::greater(), &call_row::age);
  co_return all;
}

task<page_source::json> page_source::overview() {
  const sample_pair samples = co_await history_.take();
  const calls_listing listing = co_await list_calls();
  call_rates all;
  std::map<std::string, call_rates> by_method = rates_of_methods(samples);
  for (const auto& [method, count] : listing.by_method)
    if (const std::string_view path = method; path.starts_with('/')) (void)by_method[method.substr(1)];
  json methods = json::array();
  for (const auto& [method, of] : by_method) {
    all.add(of);
    const auto running = listing.by_method.find("/" + method);
    json row{{"method", method}};
    row.update(rates_json(of, running == listing.by_method.end() ? 0 : running->second));
    methods.push_back(std::move(row));
  }
  const metrics_snapshot& now = samples.now->metrics;
  co_return json{{"time", seconds_of(now.time)},
                 {"uptime_s", seconds_of(now.time) - seconds_of(core_->started())},
                 {"window_s", samples.seconds()},
                 {"loops", rt().size()},
                 {"connections", sum_of(now, "coracle.server.connections")},
                 {"memory",
                  {{"used_bytes", sum_of(now, "coracle.server.memory.usage")},
                   {"limit_bytes", sum_of(now, "coracle.server.memory.limit")}}},
                 {"draining", sum_of(now, "coracle.server.draining") > 0},
                 {"rejections", sum_of(now, "coracle.server.rejections")},
                 {"all", rates_json(all, listing.all)},
                 {"methods", std::move(methods)}};
}

task<page_source::json> page_source::connections() {
  json servers = json::array();
  const auto all = server_internal::server_registry::of(rt())->all();
  for (const auto& [id, state] : all) {
    const server_snapshot now = co_await state->snapshot();
    json listeners = json::array();
    for (const listener_snapshot& one : now.listeners)
      listeners.push_back({{"id", one.id}, {"address", one.local.to_string()}});
    json rows = json::array();
    for (const connection_snapshot& one : now.connections) {
      if (rows.size() >= connections_max) break;
      rows.push_back(connection_json(one));
    }
    servers.push_back({{"id", id},
                       {"calls", calls_json(now)},
                       {"listeners", std::move(listeners)},
                       {"connection_count", now.connections.size()},
                       {"connections", std::move(rows)},
                       {"events", trace_json(state->trace())}});
  }
  co_return json{{"servers", std::move(servers)}};
}

task<page_source::json> page_source::channels() {
  json rows = json::array();
  const auto all = rpc::channel_registry::of(rt())->all();
  for (const auto& [id, channel] : all) {
    if (rows.size() >= channels_max) break;
    const rpc::channel_snapshot now = co_await channel->stats();
    rows.push_back(channel_json(now));
  }
  co_return json{{"channel_count", all.size()}, {"channels", std::move(rows)}};
}

task<page_source::json> page_source::calls() {
  const calls_listing listing = co_await list_calls();
  json rows = json::array();
  for (const call_row& one : listing.oldest)
    rows.push_back({{"id", one.id},
                    {"method", one.method},
                    {"peer", one.peer},
                    {"loop", one.loop},
                    {"age_ms", ms_of(one.age)},
                    {"deadline_ms", one.left ? json(ms_of(*one.left)) : json()},
                    {"messages_received", one.messages_received},
                    {"messages_sent", one.messages_sent},
                    {"cancelled", one.cancelled}});
  json tasks = json::array();
  for (std::size_t i = 0; i < rt().size(); ++i) {
    json of_loop = co_await on(rt().at(i), tasks_of(rt().at(i)));
    tasks.push_back(std::move(of_loop));
  }
  co_return json{{"call_count", listing.all},
                 {"can_cancel", cancels_},
                 {"calls", std::move(rows)},
                 {"tasks", std::move(tasks)}};
}

task<page_source::json> page_source::loops() {
  const sample_pair samples = co_await history_.take();
  const double seconds = std::max(samples.seconds(), 0.001);
  json rows = json::array();
  for (std::size_t i = 0; i < rt().size(); ++i) {
    const loop_counters& now = samples.now->loops[i];
    const loop_counters since = now - samples.before->loops[i];
    json row{{"loop", i}, {"backend", rt().at(i).backend_name()}};
    const auto add = [&](const char* name, std::uint64_t loop_counters::* member) {
      row[name] = {{"total", now.*member}, {"per_s", static_cast<double>(since.*member) / seconds}};
    };
    add("iterations", &loop_counters::turns);
    add("runnables", &loop_counters::resumes);
    add("remote_posts", &loop_counters::remote_posts);
    add("timers", &loop_counters::timers);
    add("submissions", &loop_counters::submissions);
    add("completions", &loop_counters::completions);
    add("system_calls", &loop_counters::system_calls);
    add("frames", &loop_counters::frames);
    add("heap_blocks", &loop_counters::heap_blocks);
    rows.push_back(std::move(row));
  }
  co_return json{{"window_s", samples.seconds()}, {"loops", std::move(rows)}};
}

task<page_source::json> page_source::memory() {
  const metrics_snapshot now = co_await core_->metrics();
  json servers = json::array();
  const auto all = server_internal::server_registry::of(rt())->all();
  for (const auto& [id, state] : all)
    servers.push_back({{"id", id},
                       {"used_bytes", state->memory.used_bytes()},
                       {"limit_bytes", state->memory.limit_bytes()},
                       {"limit_source", state->options.memory ? "program" : "default"}});
  co_return json{{"servers", std::move(servers)},
                 {"connections_under_pressure", sum_of(now, "coracle.server.connections.under_pressure")},
                 {"orphaned",
                  {{"calls", sum_of(now, "coracle.server.calls.orphaned")},
                   {"bytes", sum_of(now, "coracle.server.calls.orphaned.memory")}}}};
}

task<page_source::json> page_source::limits() {
  const metrics_snapshot now = co_await core_->metrics();
  json servers = json::array();
  const auto all = server_internal::server_registry::of(rt())->all();
  for (const auto& [id, state] : all) {
    const server_snapshot snapshot = co_await state->snapshot();
    servers.push_back(
        {{"id", id}, {"limits", limits_of(*state, snapshot)}, {"admission", admission_of(snapshot)}});
  }
  json rejections = json::array();
  if (const metric_family* const f = now.find("coracle.server.rejections"))
    for (const metric_point& p : f->points)
      rejections.push_back({{"limit", p.labels.empty() ? "" : p.labels.front().second}, {"count", p.value}});
  co_return json{{"servers", std::move(servers)}, {"rejections", std::move(rejections)}};
}

task<page_source::json> page_source::control_planes() {
  std::vector<rpc::configured_client> all;
  if (const auto read = rpc::configured_clients::of(rt())->get()) {
    auto reading = read();
    all = co_await std::move(reading);
  }
  json clients = json::array();
  for (const rpc::configured_client& c : all) {
    if (clients.size() >= configured_max) break;
    clients.push_back(configured_json(c));
  }
  co_return json{{"client_count", all.size()}, {"clients", std::move(clients)}};
}

page_source::json page_source::certificates() const {
  loop& here = *loop::current();
  return certificates_json(core_->certificates().list(here), here.wall_now());
}

page_source::json page_source::configuration() const {
  json servers = json::array();
  for (const auto& [id, state] : server_internal::server_registry::of(rt())->all())
    servers.push_back({{"id", id}, {"settings", settings_of(*state)}});
  return {
      {"runtime", settings_of(rt())}, {"environment", known_environment()}, {"servers", std::move(servers)}};
}

page_source::json page_source::log_levels() const {
  json rooms = json::array();
  for (const log_room room : log_rooms)
    rooms.push_back({{"room", to_string(room)}, {"level", to_string(rt().log().min_level(room))}});
  return {{"levels", {"debug", "info", "warning", "error", "none"}}, {"rooms", std::move(rooms)}};
}

void page_source::set_log_levels(const services::ordered_json& request) {
  const std::string levels = services::string_member(request, "levels");
  if (levels.empty()) throw services::invalid_request("levels must be text such as \"info,tls=debug\"");
  if (const status wrong = rt().log().set_min_levels(levels); !wrong.ok())
    throw services::invalid_request(std::string(wrong.message()));
  rt().log().write(log_room::telemetry, log_level::info, "the pages have set the log levels to " + levels);
}

task<> page_source::cancel_call(services::ordered_json request) {
  const auto alive = shared_from_this();
  if (!cancels_)
    throw services::invalid_request("calls can be cancelled with pages_options::cancel_calls only");
  const auto index = request.find("loop");
  const auto id = request.find("id");
  if (index == request.end() || id == request.end() || !index->is_number_unsigned() ||
      !id->is_number_unsigned() || index->get<std::uint64_t>() >= rt().size())
    throw services::invalid_request("loop and id must be those of a call in progress");
  loop& where = rt().at(index->get<std::size_t>());
  bool done = false;
  co_await on(where, cancel_on(*calls_, where, id->get<std::uint64_t>(), done));
  if (!done) throw services::invalid_request("the call has ended");
}

page_source::json page_source::version() const {
  return {{"library", version_text},
          {"compiler", __VERSION__},
          {"backend", rt().backend_name()},
          {"loops", rt().size()},
          {"started", seconds_of(core_->started())}};
}

}  // namespace coracle::telemetry_internal
