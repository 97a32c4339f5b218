#include "tools/doctor/findings.hpp"

#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/base/version.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace coracle::tools::doctor {

namespace {

constexpr std::string_view verdict_names[] = {"ok", "note", "problem"};
constexpr std::size_t name_width = 7;  // of the longest name

std::string_view name_of(verdict v) noexcept { return verdict_names[static_cast<std::size_t>(v)]; }

std::string padded(std::string_view text, std::size_t width) {
  std::string all(text);
  all.resize(std::max(all.size(), width), ' ');
  return all;
}

std::string number_of(std::size_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace

// What a server says may have any bytes.
void findings::add(finding one) {
  one.found = terminal_line(one.found);
  if (!as_json_) {
    if (all_.empty() || all_.back().section != one.section) print(one.section + "\n");
    std::string line =
        "  " + padded(name_of(one.how), name_width) + "  " + one.topic + ": " + one.found + "\n";
    if (!one.advice.empty()) line.append(4 + name_width, ' ').append("-> ").append(one.advice).append("\n");
    print(line);
  }
  all_.push_back(std::move(one));
}

std::size_t findings::count(verdict of) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(all_, of, &finding::how));
}

std::string findings::json() const {
  using object = nlohmann::ordered_json;
  object list = object::array();
  for (const finding& one : all_) {
    object written{
        {"section", one.section}, {"topic", one.topic}, {"verdict", name_of(one.how)}, {"found", one.found}};
    if (!one.advice.empty()) written["advice"] = one.advice;
    list.push_back(std::move(written));
  }
  const object whole{{"format", 1},
                     {"version", version_text},
                     {"problems", count(verdict::problem)},
                     {"notes", count(verdict::note)},
                     {"findings", std::move(list)}};
  return whole.dump(2, ' ', false, object::error_handler_t::replace) + "\n";
}

void findings::finish() const {
  if (as_json_) return print(terminal_json(json()));
  print(number_of(count(verdict::problem), "problem") + ", " + number_of(count(verdict::note), "note") +
        "\n");
}

}  // namespace coracle::tools::doctor
