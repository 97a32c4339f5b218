// top: coracle top shows in a terminal what a server does, by the JSON of its pages.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/pages/page_reader.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::tools {

namespace {

using page_json = nlohmann::json;

double number(const page_json& of, const char* name) {
  const auto found = of.find(name);
  return found != of.end() && found->is_number() ? found->get<double>() : 0;
}

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, 63))};
}

std::string rate(const page_json& of, const char* name) { return formatted("%.1f", number(of, name)); }
std::string count(const page_json& of, const char* name) { return formatted("%.0f", number(of, name)); }
std::string latency(const page_json& of, const char* name) {
  const auto found = of.find(name);
  return found != of.end() && found->is_number() ? formatted("%.2f", found->get<double>()) : "-";
}
std::string mebibytes(const page_json& of, const char* name) {
  return formatted("%.1f MiB", number(of, name) / (1 << 20));
}

using row = std::vector<std::string>;

// The first column is text, the others are numbers.
std::string aligned(const std::vector<row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const row& r : rows)
    for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
  std::string text;
  for (const row& r : rows) {
    text += r[0] + std::string(widths[0] - r[0].size(), ' ');
    for (std::size_t i = 1; i < r.size(); ++i)
      text += "  " + std::string(widths[i] - r[i].size(), ' ') + r[i];
    text += '\n';
  }
  return text;
}

row row_of(std::string name, const page_json& of) {
  return {std::move(name),          rate(of, "started_per_s"), rate(of, "failed_per_s"),
          latency(of, "p50_ms"),    latency(of, "p90_ms"),     latency(of, "p99_ms"),
          count(of, "in_progress"), count(of, "started"),      count(of, "failed")};
}

std::string table_of(const page_json& page) try {
  std::vector<page_json> methods = page.at("methods").get<std::vector<page_json>>();
  std::ranges::stable_sort(methods, std::ranges::greater(),
                           [](const page_json& m) { return number(m, "started_per_s"); });
  std::vector<row> rows{
      {"METHOD", "CALLS/S", "ERRORS/S", "P50 MS", "P90 MS", "P99 MS", "NOW", "STARTED", "FAILED"}};
  for (const page_json& m : methods)
    rows.push_back(row_of(terminal_text(m.at("method").get<std::string>(), ""), m));
  rows.push_back(row_of("all methods", page.at("all")));
  const page_json& memory = page.at("memory");
  return count(page, "connections") + " connections, " + mebibytes(memory, "used_bytes") + " of " +
         mebibytes(memory, "limit_bytes") + ", " + count(page, "rejections") + " rejections, " +
         (page.at("draining").get<bool>() ? "draining" : "serving") + ", up " + count(page, "uptime_s") +
         " s, rates of the last " + rate(page, "window_s") + " s\n\n" + aligned(rows);
} catch (const page_json::exception&) {
  throw failure("the server's overview is not as expected: it has another version of the library");
}

struct top_command {
  pages::page_address at;
  bool once = false;

  int run() const {
    pages::page_reader from(at);
    if (once) {
      print(table_of(from.read("overview")));
      return 0;
    }
    // Clears the screen, and begins at its upper left corner (ECMA-48: ED, CUP). Ctrl-C ends the program.
    for (;;) {
      print("\x1b[2J\x1b[H" + table_of(from.read("overview")));
      flush_output();
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
};

}  // namespace

void add_top(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("top", "Show rates, errors and latencies of a server's methods, every second");
  const auto it = std::make_shared<top_command>();
  it->at.add_to(*command);
  command->add_flag("--once", it->once, "Print one table and end");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
