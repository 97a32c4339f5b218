#include "console/page_files.hpp"

#include <algorithm>
#include <iterator>

namespace coracle::console {

namespace {

constexpr unsigned char index_html[] = {
#include "console/assets/index.html.inc"
};
constexpr unsigned char console_css[] = {
#include "console/assets/console.css.inc"
};
constexpr unsigned char icon_svg[] = {
#include "console/assets/icon.svg.inc"
};
constexpr unsigned char main_js[] = {
#include "console/assets/main.js.inc"
};
constexpr unsigned char api_js[] = {
#include "console/assets/api.js.inc"
};
constexpr unsigned char ask_js[] = {
#include "console/assets/ask.js.inc"
};
constexpr unsigned char dom_js[] = {
#include "console/assets/dom.js.inc"
};
constexpr unsigned char editor_js[] = {
#include "console/assets/editor.js.inc"
};
constexpr unsigned char form_js[] = {
#include "console/assets/form.js.inc"
};
constexpr unsigned char lines_js[] = {
#include "console/assets/lines.js.inc"
};
constexpr unsigned char lists_js[] = {
#include "console/assets/lists.js.inc"
};
constexpr unsigned char method_view_js[] = {
#include "console/assets/method_view.js.inc"
};
constexpr unsigned char schema_js[] = {
#include "console/assets/schema.js.inc"
};
constexpr unsigned char server_dialog_js[] = {
#include "console/assets/server_dialog.js.inc"
};
constexpr unsigned char store_js[] = {
#include "console/assets/store.js.inc"
};
constexpr unsigned char tree_js[] = {
#include "console/assets/tree.js.inc"
};

template <std::size_t size>
std::string_view text_of_file(const unsigned char (&bytes)[size]) noexcept {
  return {reinterpret_cast<const char*>(bytes), size};
}

constexpr std::string_view script = "text/javascript; charset=utf-8";

}  // namespace

const page_file* find_page_file(std::string_view name) noexcept {
  static const page_file files[] = {
      {"", "text/html; charset=utf-8", text_of_file(index_html)},
      {"console.css", "text/css; charset=utf-8", text_of_file(console_css)},
      {"icon.svg", "image/svg+xml", text_of_file(icon_svg)},
      {"main.js", script, text_of_file(main_js)},
      {"api.js", script, text_of_file(api_js)},
      {"ask.js", script, text_of_file(ask_js)},
      {"dom.js", script, text_of_file(dom_js)},
      {"editor.js", script, text_of_file(editor_js)},
      {"form.js", script, text_of_file(form_js)},
      {"lines.js", script, text_of_file(lines_js)},
      {"lists.js", script, text_of_file(lists_js)},
      {"method_view.js", script, text_of_file(method_view_js)},
      {"schema.js", script, text_of_file(schema_js)},
      {"server_dialog.js", script, text_of_file(server_dialog_js)},
      {"store.js", script, text_of_file(store_js)},
      {"tree.js", script, text_of_file(tree_js)},
  };
  const auto* const found = std::find_if(std::begin(files), std::end(files),
                                         [&](const page_file& one) { return one.name == name; });
  return found == std::end(files) ? nullptr : found;
}

}  // namespace coracle::console
