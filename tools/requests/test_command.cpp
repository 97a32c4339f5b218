// test_command: coracle test makes the calls of files of requests, and compares what comes back.
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"
#include "tools/failure.hpp"
#include "tools/files/output_file.hpp"
#include "tools/requests/junit.hpp"
#include "tools/requests/request_run.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* extension = ".grpc";

struct found_files {
  std::vector<std::string> all;
  std::vector<test_result> unread;  // folders, with the reason
};

// Adds the files with the extension below the folder, sorted.
void add_files(const std::string& folder, found_files& to) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error))
    entries.push_back(at->path());
  if (error) to.unread.push_back({folder, "the folder", {"it cannot be read: " + error.message()}, {}});
  std::sort(entries.begin(), entries.end());
  for (const fs::path& one : entries) {
    std::error_code unknown;
    const fs::file_status kind = fs::symlink_status(one, unknown);
    if (fs::is_directory(kind)) add_files(one.string(), to);
    else if (one.extension() == extension && fs::is_regular_file(one, unknown))
      to.all.push_back(one.string());
  }
}

// The files themselves, and those with the extension below folders.
found_files files_of(const std::vector<std::string>& paths) {
  found_files found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      found.all.push_back(path);
      continue;
    }
    const std::size_t before = found.all.size() + found.unread.size();
    add_files(path, found);
    if (found.all.size() + found.unread.size() == before)
      throw usage_failure("there are no files that end in " + std::string(extension) + " below " + path);
  }
  return found;
}

struct test_command {
  session options;  // only its options are used: each request has a session of its own
  std::vector<std::string> paths;
  std::string address, part, junit;
  std::vector<test_result> results;

  int run(const CLI::App& typed) {
    output_file junit_file(junit);
    const request_runner runner(typed, address, false);
    runner.check();
    found_files found = files_of(paths);
    for (test_result& one : found.unread) add(std::move(one));
    for (const std::string& path : found.all) run_file(runner, path);
    if (results.empty()) throw failure("no request has a name that contains '" + part + "'");
    const auto failed = static_cast<std::size_t>(std::count_if(
        results.begin(), results.end(), [](const test_result& one) { return !one.problems.empty(); }));
    print(std::to_string(results.size() - failed) + " passed, " + std::to_string(failed) + " failed\n");
    if (junit_file.requested()) junit_file.write(junit_xml(results));
    return failed == 0 ? 0 : exit_check_failed;
  }

  void run_file(const request_runner& runner, const std::string& path) {
    std::vector<saved_request> requests;
    try {
      requests = requests_in(path);
    } catch (const failure& error) {
      return add({path, "the file", {error.what()}, {}});
    }
    std::map<std::string, std::size_t> titles;
    for (const saved_request& one : requests) ++titles[one.title()];
    for (const saved_request& one : requests) {
      if (one.title().find(part) == std::string::npos) continue;
      const std::string line = titles[one.title()] > 1 ? " (line " + std::to_string(one.line) + ")" : "";
      test_result result{path, one.title() + line, {}, {}};
      try {
        request_result done = runner.run(one, path);
        result.problems = std::move(done.problems);
        result.took = done.took;
      } catch (const output_failure&) {
        throw;
      } catch (const failure& error) {
        result.problems.emplace_back(error.what());
      }
      add(std::move(result));
    }
  }

  void add(test_result one) {
    std::array<char, 32> took{};
    std::snprintf(took.data(), took.size(), " (%.1f ms)", one.took.count() * 1e3);
    std::string text =
        (one.problems.empty() ? "ok    " : "FAIL  ") + one.file + ": " + one.name + took.data() + "\n";
    for (const std::string& problem : one.problems) {
      text += "      ";
      for (const char c : problem) text += c == '\n' ? std::string("\n      ") : std::string(1, c);
      text += "\n";
    }
    print(terminal_text(text));
    results.push_back(std::move(one));
  }
};

}  // namespace

void add_test(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("test", "Make the calls of files of requests, and compare what comes back");
  const auto it = std::make_shared<test_command>();
  it->options.add_to(*command, endpoint::address_use::none);
  it->options.add_protocol_to(*command);
  command->add_option("PATH", it->paths, "A file, or a folder with files that end in .grpc")->required();
  command->add_option("--address", it->address, "Call this server instead of those of the files")
      ->type_name("ADDRESS");
  command->add_option("--name", it->part, "Make only the calls whose name contains this text")
      ->type_name("TEXT");
  command->add_option("--junit", it->junit, "Write the results as JUnit XML into this file")
      ->type_name("FILE");
  command->callback([it, command, &chosen] { chosen = [it, command] { return it->run(*command); }; });
}

}  // namespace coracle::tools
