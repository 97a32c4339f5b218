// load_command: coracle load makes calls by a plan and reports the results.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/load/grpc_connection.hpp"
#include "tools/load/origin.hpp"
#include "tools/load/output_file.hpp"
#include "tools/load/outputs.hpp"
#include "tools/load/plan_options.hpp"
#include "tools/load/request_options.hpp"
#include "tools/load/rest_connection.hpp"
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

struct load_command {
  session at;
  plan_options planned;
  request_options requests;
  std::vector<std::string> expected;
  std::vector<std::string> band_texts;
  std::string json, csv, report, rest;
  bool lines = false, rest_alone = false;

  int run(const CLI::App& command) {
    const origin from = origin_of(command);
    channel_options options = at.where().options();
    std::optional<duration>& timeout = options.calls.timeout;
    if (!timeout) timeout = std::chrono::seconds(20);
    scenario plan = planned.plan();
    plan.patience = *timeout;
    find_rest();
    const std::vector<expectation> expectations(expected.begin(), expected.end());
    const std::vector<duration> bands = read_bands();
    expect_apart({json, csv, report});
    output_file json_file(json), csv_file(csv), report_file(report);

    const std::vector<results> runs = make_runs(plan, options, bands, expectations);

    if (json_file.requested())
      json_file.write(
          json_of(runs, from).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    if (csv_file.requested()) csv_file.write(csv_of(runs));
    if (report_file.requested()) report_file.write(report_of(runs, from));
    if (!json_file.to_stdout() && !csv_file.to_stdout() && !report_file.to_stdout())
      for (const results& r : runs) std::fputs(summary_of(r).c_str(), stdout);
    return judge(runs);
  }

  std::vector<results> make_runs(const scenario& plan, const channel_options& options,
                                 const std::vector<duration>& bands,
                                 const std::vector<expectation>& expectations) {
    runtime own(plan.loops);
    const method_mix methods = requests.mix(at, !rest.empty());
    progress progress_printer(lines);

    const subject ours{"gRPC", rest_alone ? std::string() : at.where().address(),
                       at.where().hint(status::unavailable())};
    std::optional<grpc_connector> to;
    if (!rest_alone) to.emplace(own, at.where().address(), at.where().credentials(), options);
    const subject theirs{"REST", rest, {}};
    std::optional<rest_connector> to_rest;
    if (!rest.empty()) to_rest.emplace(http_url(rest), *options.calls.timeout);
    server_identity our_server, their_server;
    if (to) our_server = reach(own, *to, ours, plan.connect_timeout);
    if (to_rest) their_server = reach(own, *to_rest, theirs, plan.connect_timeout);

    std::vector<results> runs;
    if (to) {
      runs.push_back(load::run(own, plan, methods, *to, ours, bands, progress_printer));
      runs.back().server = our_server;
    }
    if (to_rest && (runs.empty() || !runs.front().interrupted)) {
      runs.push_back(load::run(own, plan, methods, *to_rest, theirs, bands, progress_printer));
      runs.back().server = their_server;
    }
    for (const expectation& e : expectations) runs.front().verdicts.push_back(e.judge(runs.front()));
    return runs;
  }

  // Two results in the same file would overwrite each other.
  static void expect_apart(std::vector<std::string> files) {
    std::sort(files.begin(), files.end());
    for (std::size_t i = 1; i < files.size(); ++i)
      if (!files[i].empty() && files[i] == files[i - 1])
        throw usage_failure("--json, --csv and --report go to different files: '" + files[i] +
                            "' is used twice");
  }

  // An ADDRESS that is a URL selects REST only.
  void find_rest() {
    if (!at.where().typed_address().starts_with("http://")) return;
    if (!rest.empty())
      throw usage_failure("with --rest ADDRESS is the gRPC server; a URL there means REST alone");
    if (!at.has_files())
      throw usage_failure("a URL has no reflection: define the request with --proto or --protoset");
    rest = at.where().typed_address();
    rest_alone = true;
  }

  static int judge(const std::vector<results>& runs) {
    int code = 0;
    for (const results& r : runs) {
      for (const expectation::verdict& v : r.verdicts)
        if (!v.met) {
          std::fprintf(stderr, "coracle: expected %s: it is %s\n", v.expected.c_str(), v.found.c_str());
          code = exit_check_failed;
        }
      if (r.ok() == 0 && code == 0) {
        std::fputs("coracle: no call succeeded\n", stderr);
        code = exit_failure;
      }
    }
    return code;
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

void add_results(CLI::App& command, load_command& to) {
  constexpr const char* group = "Results";
  command.add_option("--json", to.json, "writes all results as JSON into a file; - is the standard output")
      ->group(group);
  command.add_option("--csv", to.csv, "writes a row for each second into a file; - is the standard output")
      ->group(group);
  command.add_option("--report", to.report, "writes an HTML page with charts into a file")->group(group);
  command
      .add_option("--bands", to.band_texts,
                  "counts the calls below, between and above these latencies; default: 800ms,1200ms")
      ->group(group)
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--expect", to.expected,
                  "a threshold, such as p99<20ms, mean<5ms, errors<0.1% or rate>1000; the exit code is 66 if "
                  "it is not met")
      ->group(group)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--rest", to.rest,
                  "repeats the load as JSON by POST over HTTP/1.1 to http://host:port/path, for comparison")
      ->group(group);
  command
      .add_flag("--progress", to.lines,
                "prints a line to stderr each second, also if stderr is not a terminal")
      ->group(group);
}

}  // namespace

void add_load(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("load", "makes many calls, and measures their rate, latencies and errors");
  const auto it = std::make_shared<load_command>();
  it->band_texts = {"800ms", "1200ms"};
  it->at.add_to(*command);
  it->requests.add_to(*command);
  it->planned.add_to(*command);
  add_results(*command, *it);
  command->callback([it, command, &chosen] { chosen = [it, command] { return it->run(*command); }; });
}

}  // namespace coracle::tools
