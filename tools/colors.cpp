#include "tools/colors.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace coracle::tools {

namespace {

// Colours of the terminal's own palette, so that they fit its background.
constexpr std::string_view blue = "\x1b[34m", green = "\x1b[32m", cyan = "\x1b[36m", yellow = "\x1b[33m",
                           faint = "\x1b[2m", plain = "\x1b[0m";

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value;
}

void add(std::string& to, std::string_view color, std::string_view text) {
  to.append(color).append(text).append(plain);
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

// The end of the string that begins at `at`, after its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && in_word(text[at])) ++at;
  return at;
}

bool is_proto_keyword(std::string_view word) {
  constexpr std::string_view all[] = {"message", "enum",     "service",  "rpc",      "returns",
                                      "stream",  "oneof",    "repeated", "optional", "required",
                                      "map",     "reserved", "option",   "extend",   "extensions",
                                      "import",  "package",  "syntax",   "group",    "to"};
  return std::find(std::begin(all), std::end(all), word) != std::end(all);
}

}  // namespace

void color_option::add_to(CLI::App& command) {
  command.add_option("--color", choice_, "Colour the output")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

bool color_option::use_for(std::FILE* output) const {
  if (choice_ != "auto") return choice_ == "always";
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE")) return true;
  const char* const terminal = std::getenv("TERM");
  return ::isatty(::fileno(output)) == 1 && terminal && std::string_view(terminal) != "dumb";
}

std::string colored_json(std::string_view json) {
  std::string all;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const std::size_t end = end_of_string(json, at);
      const std::size_t after = json.find_first_not_of(" \n", end);
      const bool is_key = after != json.npos && json[after] == ':';
      add(all, is_key ? blue : green, json.substr(at, end - at));
      at = end;
    } else if (in_word(c)) {
      const std::size_t end = end_of_word(json, at);
      add(all, c >= 'a' ? yellow : cyan, json.substr(at, end - at));
      at = end;
    } else {
      all += json[at++];
    }
  }
  return all;
}

std::string colored_definitions(std::string_view proto) {
  std::string all;
  for (std::size_t at = 0; at < proto.size();) {
    const char c = proto[at];
    if (proto.substr(at, 2) == "//") {
      const std::size_t end = std::min(proto.find('\n', at), proto.size());
      add(all, faint, proto.substr(at, end - at));
      at = end;
    } else if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(proto, at);
      add(all, green, proto.substr(at, end - at));
      at = end;
    } else if (in_word(c)) {
      const std::size_t end = end_of_word(proto, at);
      const std::string_view word = proto.substr(at, end - at);
      if (c >= '0' && c <= '9') add(all, cyan, word);
      else if (is_proto_keyword(word)) add(all, blue, word);
      else all += word;
      at = end;
    } else {
      all += proto[at++];
    }
  }
  return all;
}

}  // namespace coracle::tools
