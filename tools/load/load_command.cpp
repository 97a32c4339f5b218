// load_command: coracle load makes calls by a plan and reports the results.
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/files/output_file.hpp"
#include "tools/load/channel_connection.hpp"
#include "tools/load/compare_command.hpp"
#include "tools/load/http_url.hpp"
#include "tools/load/json_bodies.hpp"
#include "tools/load/live_export.hpp"
#include "tools/load/load_configuration.hpp"
#include "tools/load/origin.hpp"
#include "tools/load/outputs.hpp"
#include "tools/load/plan_options.hpp"
#include "tools/load/request_options.hpp"
#include "tools/load/run.hpp"
#include "tools/schema/session.hpp"
#include "tools/units.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

using namespace load;

// One load: a server, the methods, the load model and the thresholds.
struct load_scenario {
  std::string name;
  session at;
  plan_options planned;
  request_options requests;
  std::vector<std::string> expected;
  std::vector<std::string> band_texts;
  std::string rest;
  bool rest_alone = false;

  void add_to(CLI::App& command);

  // Returns the results of gRPC, of REST, or of both.
  std::vector<results> run(live_export& exported, bool lines) {
    if (at.where().typed_address().empty())
      throw usage_failure("ADDRESS is required: a server's host:port, or \"address\" in a --config file");
    for (const std::string& method : requests.names()) at.where().expect_before(method);
    channel_options options = at.where().options();
    std::optional<duration>& timeout = options.calls.timeout;
    if (!timeout) timeout = std::chrono::seconds(20);
    scenario plan = planned.plan();
    plan.patience = *timeout;
    find_rest();
    const std::vector<expectation> expectations(expected.begin(), expected.end());
    const std::vector<duration> bands = read_bands();

    runtime own(plan.loops);
    const method_mix methods = requests.mix(at);
    const method_mix bodies = rest.empty() ? method_mix() : json_bodies_of(methods);
    progress progress_printer(lines, exported);
    const subject ours{named(at.where().protocol_name()), rest_alone ? std::string() : at.where().address(),
                       at.where().hint(status::unavailable())};
    std::optional<channel_connector> to, to_rest;
    if (!rest_alone)
      to.emplace(own, at.where().address(), at.where().credentials(), in_protocol(std::move(options)));
    const subject theirs{named("REST"), rest, {}};
    if (!rest.empty()) to_rest.emplace(connector_to_rest(own, at.where().options(), plan.patience));
    server_identity our_server, their_server;
    if (to) our_server = reach(own, *to, ours, plan.connect_timeout);
    if (to_rest) their_server = reach(own, *to_rest, theirs, plan.connect_timeout);

    std::vector<results> runs;
    if (to) {
      runs.push_back(load::run(own, plan, methods, *to, ours, bands, progress_printer));
      runs.back().server = our_server;
      runs.back().protocol = at.where().protocol_name();
    }
    if (to_rest && (runs.empty() || !runs.front().interrupted)) {
      runs.push_back(load::run(own, plan, bodies, *to_rest, theirs, bands, progress_printer));
      runs.back().server = their_server;
      runs.back().protocol = "REST";
    }
    for (results& r : runs) r.data = requests.description();
    for (const expectation& e : expectations) runs.front().verdicts.push_back(e.judge(runs.front()));
    return runs;
  }

 private:
  [[nodiscard]] std::string named(const std::string& protocol) const {
    const bool is_plain = rest.empty() && at.where().protocol() == call_protocol::grpc;
    return name.empty() ? protocol : is_plain ? name : name + " (" + protocol + ")";
  }

  // An ADDRESS that is a URL selects REST only, unless --protocol says what the server speaks.
  void find_rest() {
    const std::string& address = at.where().typed_address();
    const bool has_path = address.starts_with("https://") && address.find('/', 8) < address.size() - 1;
    if (at.where().protocol() != call_protocol::grpc || !(address.starts_with("http://") || has_path)) return;
    if (!rest.empty())
      throw usage_failure("with --rest ADDRESS is the gRPC server; a URL there means REST alone");
    if (!at.has_files())
      throw usage_failure("a URL has no reflection: define the request with --proto or --protoset");
    rest = address;
    rest_alone = true;
  }

  // The options of a channel in the protocol of --protocol.
  channel_options in_protocol(channel_options grpc) {
    if (at.where().protocol() == call_protocol::grpc) {
      static_cast<void>(at.where().http_version(true));  // --http 1.1 is an error
      return grpc;
    }
    if (requests.is_raw() && at.where().protocol() == call_protocol::rest)
      throw usage_failure("--raw has no definition, which --protocol rest requires: use --data");
    channel_options options = at.caller_options(requests.methods(at));
    options.calls.timeout = grpc.calls.timeout;
    options.http1_connections_per_server = channel_options::http1_connections_limit;
    return options;
  }

  method_mix json_bodies_of(const method_mix& methods) const {
    if (methods.size() > 1 || requests.is_raw())
      throw usage_failure("--rest requires one METHOD whose request is JSON");
    method_mix bodies;
    bodies.add(std::make_unique<json_bodies>(methods.at(0)), 1);
    return bodies;
  }

  // The messages are sent to the URL by POST, as they were written, whatever the method's rules are.
  channel_connector connector_to_rest(runtime& on, channel_options options, duration timeout) {
    const http_url url(rest);
    const endpoint there = at.where().at(url.origin());
    const google::protobuf::MethodDescriptor& method = *requests.methods(at).front();
    const google::protobuf::ServiceDescriptor* const services[] = {method.service()};
    const nlohmann::json rule{
        {"selector", std::string(method.full_name())}, {"post", url.path()}, {"body", "*"}};
    const nlohmann::json rules{{"http", {{"rules", nlohmann::json::array({rule})}}}};
    const auto routes = rest_methods::make(services, rules.dump(), url.query());
    if (!routes.ok()) throw usage_failure("--rest: " + std::string(routes.status().message()));
    options.protocol = call_protocol::rest;
    options.http_version = http_version::http1;
    options.rest = *routes;
    options.calls.timeout = timeout;
    options.calls.content_subtype = "json";
    options.http1_connections_per_server = channel_options::http1_connections_limit;
    return channel_connector(on, there.address(), url.secure() ? there.credentials() : insecure(), options);
  }

  std::vector<duration> read_bands() const {
    std::vector<duration> all;
    for (const std::string& text : band_texts) {
      all.push_back(parse_duration(text, "--bands"));
      if (all.size() > 1 && all[all.size() - 2] >= all.back())
        throw usage_failure("--bands must increase, as in 800ms,1200ms");
    }
    return all;
  }
};

struct load_command {
  load_scenario typed;  // from the command line
  std::string config, json, csv, report, live, metrics;
  bool lines = false;

  int run(CLI::App& command) {
    std::vector<std::unique_ptr<load_scenario>> others;
    std::vector<load_scenario*> all{&typed};
    if (!config.empty()) all = configured(command, others);
    const origin from = origin_of(command);
    expect_apart({json, csv, report, live, metrics});
    output_file json_file(json), csv_file(csv), report_file(report);
    live_export exported(live, metrics);

    std::vector<results> runs;
    for (load_scenario* const one : all) {
      if (!runs.empty() && runs.back().interrupted) break;
      for (results& r : one->run(exported, lines)) runs.push_back(std::move(r));
    }

    if (json_file.requested())
      json_file.write(
          json_of(runs, from).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    if (csv_file.requested()) csv_file.write(csv_of(runs));
    if (report_file.requested()) report_file.write(report_of(runs, from));
    if (!json_file.to_stdout() && !csv_file.to_stdout() && !report_file.to_stdout() && live != "-")
      for (const results& r : runs) std::fputs(summary_of(r).c_str(), stdout);
    return judge(runs);
  }

  // Returns the scenarios of the file, with the options of the command line in place of theirs.
  std::vector<load_scenario*> configured(CLI::App& command,
                                         std::vector<std::unique_ptr<load_scenario>>& scenarios) {
    const load_configuration file(config);
    std::vector<load_scenario*> all;
    for (const load_configuration::scenario_entry& one : file.scenarios()) {
      scenarios.push_back(std::make_unique<load_scenario>());
      load_scenario& made = *scenarios.back();
      made.name = one.name;
      CLI::App options;
      made.add_to(options);
      for (const CLI::Option* const typed_option : command.get_options()) {
        CLI::Option* const same = options.get_option_no_throw(typed_option->get_name(false, false));
        if (!same || typed_option->count() == 0) continue;
        for (const std::string& text : typed_option->results()) same->add_result(text);
        same->run_callback();
      }
      file.apply(one.options, options, command);
      file.apply(file.common(), options, command);
      made.at.where().use_target(options);
      all.push_back(&made);
    }
    file.apply(only_outputs(file.common()), command, command);
    return all;
  }

  static nlohmann::ordered_json only_outputs(const nlohmann::ordered_json& common) {
    nlohmann::ordered_json some = nlohmann::ordered_json::object();
    for (const char* const key : {"json", "csv", "report", "live", "prometheus", "progress"})
      if (common.contains(key)) some[key] = common[key];
    return some;
  }

  // Two results in the same file would overwrite each other.
  static void expect_apart(std::vector<std::string> files) {
    std::sort(files.begin(), files.end());
    for (std::size_t i = 1; i < files.size(); ++i)
      if (!files[i].empty() && files[i] == files[i - 1])
        throw usage_failure("--json, --csv and --report go to different files: '" + files[i] +
                            "' is used twice");
  }

  static int judge(const std::vector<results>& runs) {
    int code = 0;
    for (const results& r : runs) {
      for (const expectation::verdict& v : r.verdicts)
        if (!v.met) {
          print_error("threshold " + v.expected + " failed (actual " + v.found + ")");
          code = exit_check_failed;
        }
      if (r.ok() == 0 && code == 0) {
        print_error("no call succeeded");
        code = exit_failure;
      }
    }
    return code;
  }
};

constexpr const char* result_group = "Results";

void load_scenario::add_to(CLI::App& command) {
  at.add_to(command, endpoint::address_use::optional);
  at.add_protocol_to(command);
  requests.add_to(command);
  planned.add_to(command);
  command
      .add_option("--bands", band_texts,
                  "Count the calls below, between and above these latencies, as in 800ms,1200ms")
      ->type_name("TIME,TIME")
      ->group(result_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--expect", expected,
                  "Exit with 66 unless this holds, such as p99<20ms, mean<5ms, errors<0.1% or rate>1000; may "
                  "be repeated")
      ->type_name("CONDITION")
      ->group(result_group)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option(
          "--rest", rest,
          "Repeat the load as JSON by POST over HTTP/1.1 to http://host:port/path, or https, for comparison")
      ->type_name("URL")
      ->group(result_group);
}

void add_outputs(CLI::App& command, load_command& to) {
  const auto add = [&](const char* name, std::string& value, const char* text) {
    command.add_option(name, value, text)->type_name("FILE")->group(result_group);
  };
  add("--json", to.json, "Write all results as JSON into a file; - is the standard output");
  add("--csv", to.csv, "Write a row for each second into a file; - is the standard output");
  add("--report", to.report, "Write an HTML page with charts into a file");
  add("--live", to.live, "Write a line of JSON each second into a file; - is the standard output");
  add("--prometheus", to.metrics, "Replace a file with metrics in the text format of Prometheus each second");
  command
      .add_flag("--progress", to.lines,
                "Print a line to stderr each second, even if stderr is not a terminal")
      ->group(result_group);
  command
      .add_option("--config", to.config,
                  "Read options and scenarios from a JSON file; the command line overrides it")
      ->type_name("FILE");
}

}  // namespace

void add_load(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("load", "Run a load test: make many calls, and measure rate, latencies and errors");
  const auto it = std::make_shared<load_command>();
  it->typed.add_to(*command);
  add_outputs(*command, *it);
  add_compare(*command, chosen);
  command->callback([it, command, &chosen] {
    if (command->get_subcommands().empty()) chosen = [it, command] { return it->run(*command); };
  });
}

}  // namespace coracle::tools
