#include "tools/load/outputs.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace coracle::tools::load {

namespace {

// Embedded at build time: tools/load/page and Debian's Chart.js.
constexpr unsigned char page_bytes[] = {
#include "load_report/page.inc"
};
constexpr unsigned char style_bytes[] = {
#include "load_report/style.inc"
};
constexpr unsigned char script_bytes[] = {
#include "load_report/script.inc"
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

}  // namespace

std::string report_of(const std::vector<results>& runs, const origin& from) {
  const std::string data = json_in_html(json_of(runs, from));
  std::string page;
  std::string_view left = text_of(page_bytes);
  // Each placeholder occurs once, in the page's order.
  const std::array<std::pair<std::string_view, std::string_view>, 4> pieces = {
      {{"/*style*/", text_of(style_bytes)},
       {"/*data*/", data},
       {"/*chart*/", text_of(chart_bytes)},
       {"/*script*/", text_of(script_bytes)}}};
  for (const auto& [mark, piece] : pieces) {
    const std::size_t at = left.find(mark);
    page.append(left.substr(0, at)).append(piece);
    left.remove_prefix(at + mark.size());
  }
  return page.append(left);
}

}  // namespace coracle::tools::load
