// compare_command: coracle load compare shows how the results of two runs differ.
#include "tools/load/compare_command.hpp"

#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/files/output_file.hpp"
#include "tools/load/compare.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools::load {

namespace {

struct compare_command {
  std::string before, after, report;
  std::vector<std::string> conditions;
  bool force = false;

  int run() const {
    const std::vector<change_limit> limits(conditions.begin(), conditions.end());
    const auto a = read(before), b = read(after);
    output_file page(report);
    const std::vector<run_pair> pairs = pairs_of(a, b);
    const std::vector<compared> all = compare(pairs);
    std::vector<std::string> broken;
    for (const change_limit& limit : limits)
      for (const compared& one : all)
        if (limit.broken_by(one)) broken.push_back(one.run + ": " + limit.text());
    print(terminal_text(table_of(all, pairs)));
    if (page.requested()) page.write(page_of(all, a, b, limits));
    if (warn_of_differences(pairs) && !limits.empty() && !force)
      throw failure("--fail-if gives no verdict on runs that made different calls",
                    "--force compares them all the same");
    for (const std::string& one : broken) print_error("the comparison failed: " + one);
    return broken.empty() ? 0 : exit_check_failed;
  }

  // Returns whether there are any.
  static bool warn_of_differences(const std::vector<run_pair>& pairs) {
    bool differ = false;
    for (const run_pair& pair : pairs) {
      std::string listed;
      for (const std::string& one : pair.differences()) listed += (listed.empty() ? "" : ", ") + one;
      if (listed.empty()) continue;
      differ = true;
      print_warning(pair.name + ": the runs differ in: " + listed);
    }
    return differ;
  }

  static nlohmann::ordered_json read(const std::string& path) {
    auto result = nlohmann::ordered_json::parse(file_content(path), nullptr, false);
    check_result(result, path);
    return result;
  }
};

}  // namespace

void add_compare(CLI::App& load, action& chosen) {
  CLI::App* const command =
      load.add_subcommand("compare", "Compare two results that `coracle load --json` wrote");
  const auto it = std::make_shared<compare_command>();
  command->add_option("BEFORE", it->before, "The older result")->required();
  command->add_option("AFTER", it->after, "The newer result")->required();
  command
      ->add_option("--fail-if", it->conditions,
                   "Exit with 66 if this holds, such as p99>+10%, rate<-5% or errors>+0.1%; may be repeated")
      ->type_name("CONDITION")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--force", it->force, "Apply --fail-if also to runs that made different calls");
  command->add_option("--report", it->report, "Write an HTML page into a file")->type_name("FILE");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools::load
