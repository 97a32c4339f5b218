#include "tools/requests/junit.hpp"

#include "tools/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

namespace coracle::tools {

namespace {

// XML has no control characters.
std::string escaped_xml(std::string_view text) {
  std::string all;
  for (const char c : terminal_text(text)) {
    if (c == '&') all += "&amp;";
    else if (c == '<') all += "&lt;";
    else if (c == '>') all += "&gt;";
    else if (c == '"') all += "&quot;";
    else if (c == '\n') all += "&#10;";
    else all += c;
  }
  return all;
}

std::string attributes(std::span<const test_result> of) {
  std::chrono::duration<double> took{};
  for (const test_result& one : of) took += one.took;
  const auto failed =
      std::count_if(of.begin(), of.end(), [](const test_result& one) { return !one.problems.empty(); });
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), " tests=\"%zu\" failures=\"%zu\" time=\"%.6f\"", of.size(),
                static_cast<std::size_t>(failed), took.count());
  return text.data();
}

std::string testcase(const test_result& one) {
  std::array<char, 48> time{};
  std::snprintf(time.data(), time.size(), " time=\"%.6f\"", one.took.count());
  std::string text = "    <testcase classname=\"" + escaped_xml(one.file) + "\" name=\"" +
                     escaped_xml(one.name) + "\"" + time.data();
  if (one.problems.empty()) return text + "/>\n";
  std::string problems;
  for (const std::string& problem : one.problems) problems += (problems.empty() ? "" : "\n") + problem;
  return text + ">\n      <failure message=\"" + escaped_xml(problems) + "\"/>\n    </testcase>\n";
}

}  // namespace

std::string junit_xml(const std::vector<test_result>& all) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"coracle test\"" +
                     attributes(all) + ">\n";
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end =
        std::find_if(begin, all.end(), [&](const test_result& one) { return one.file != begin->file; });
    text += "  <testsuite name=\"" + escaped_xml(begin->file) + "\"" + attributes({begin, end}) + ">\n";
    for (; begin != end; ++begin) text += testcase(*begin);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace coracle::tools
