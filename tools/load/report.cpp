#include "tools/load/compare.hpp"
#include "tools/load/outputs.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace coracle::tools::load {

namespace {

// Embedded at build time: tools/load/page and Debian's Chart.js.
constexpr unsigned char report_html_bytes[] = {
#include "load_report/report_html.inc"
};
constexpr unsigned char report_js_bytes[] = {
#include "load_report/report_js.inc"
};
constexpr unsigned char compare_html_bytes[] = {
#include "load_report/compare_html.inc"
};
constexpr unsigned char compare_js_bytes[] = {
#include "load_report/compare_js.inc"
};
constexpr unsigned char style_bytes[] = {
#include "load_report/style.inc"
};
constexpr unsigned char drawing_bytes[] = {
#include "load_report/drawing.inc"
};
constexpr unsigned char chart_bytes[] = {
#include "load_report/chart.inc"
};

template <std::size_t N>
std::string_view text_of(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

// Escapes JSON for a <script>, where "</script" would end it and "<!--" would begin a comment. In JSON, '<'
// occurs only inside strings.
std::string json_in_html(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text)
    if (c == '<') safe += "\\u003c";
    else safe += c;
  return safe;
}

// A self-contained page: `html` with its data and its script in place.
std::string page_with(std::string_view html, std::string_view script, const nlohmann::ordered_json& data) {
  const std::string text = json_in_html(data);
  std::string page;
  std::string_view left = html;
  // Each placeholder occurs once, in the page's order.
  const std::array<std::pair<std::string_view, std::string_view>, 5> pieces = {
      {{"/*style*/", text_of(style_bytes)},
       {"/*data*/", text},
       {"/*chart*/", text_of(chart_bytes)},
       {"/*drawing*/", text_of(drawing_bytes)},
       {"/*script*/", script}}};
  for (const auto& [mark, piece] : pieces) {
    const std::size_t at = left.find(mark);
    page.append(left.substr(0, at)).append(piece);
    left.remove_prefix(at + mark.size());
  }
  return page.append(left);
}

// What the page of a comparison draws of a result; the seconds are most of it.
nlohmann::ordered_json without_seconds(nlohmann::ordered_json result) {
  for (nlohmann::ordered_json& run : result.at("runs")) run.erase("per_second");
  return result;
}

}  // namespace

std::string report_of(const std::vector<results>& runs, const origin& from) {
  return page_with(text_of(report_html_bytes), text_of(report_js_bytes), json_of(runs, from));
}

std::string page_of(const std::vector<compared>& all, const nlohmann::ordered_json& before,
                    const nlohmann::ordered_json& after, const std::vector<change_limit>& limits) {
  nlohmann::ordered_json data = {{"before", without_seconds(before)},
                                 {"after", without_seconds(after)},
                                 {"compared", nlohmann::ordered_json::array()},
                                 {"conditions", nlohmann::ordered_json::array()}};
  for (const compared& one : all)
    data["compared"].push_back({{"run", one.run},
                                {"name", one.name},
                                {"unit", one.unit},
                                {"before", one.before},
                                {"after", one.after}});
  for (const change_limit& limit : limits)
    for (const compared& one : all)
      if (limit.applies_to(one))
        data["conditions"].push_back({{"run", one.run},
                                      {"expected", limit.text()},
                                      {"unit", one.unit},
                                      {"before", one.before},
                                      {"after", one.after},
                                      {"met", !limit.broken_by(one)}});
  return page_with(text_of(compare_html_bytes), text_of(compare_js_bytes), data);
}

}  // namespace coracle::tools::load
