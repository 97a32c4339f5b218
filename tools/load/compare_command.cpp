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

  int run() const {
    const std::vector<change_limit> limits(conditions.begin(), conditions.end());
    const auto a = read(before), b = read(after);
    output_file page(report);
    const std::vector<compared> all = compare(a, b);
    std::vector<std::string> broken;
    for (const change_limit& limit : limits)
      for (const compared& one : all)
        if (limit.broken_by(one)) broken.push_back(one.run + ": " + limit.text());
    print(terminal_text(table_of(all)));
    if (page.requested()) page.write(page_of(all, a, b, limits));
    for (const std::string& one : broken) print_error("the comparison failed: " + one);
    return broken.empty() ? 0 : exit_check_failed;
  }

  static nlohmann::ordered_json read(const std::string& path) {
    auto result = nlohmann::ordered_json::parse(file_content(path), nullptr, false);
    if (!result.is_object()) throw failure(path + " is not a result of `coracle load --json`");
    return result;
  }
};

}  // namespace

void add_compare(CLI::App& load, action& chosen) {
  CLI::App* const command = load.add_subcommand(
      "compare", "compares two results that --json wrote: coracle load compare A.json B.json");
  const auto it = std::make_shared<compare_command>();
  command->add_option("BEFORE", it->before, "the older result")->required();
  command->add_option("AFTER", it->after, "the newer result")->required();
  command
      ->add_option(
          "--fail-if", it->conditions,
          "a condition for the exit code 66, such as p99>+10%, rate<-5% or errors>+0.1%; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--report", it->report, "writes an HTML page into a file");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools::load
