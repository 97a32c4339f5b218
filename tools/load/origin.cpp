#include "tools/load/origin.hpp"

#include <CLI/CLI.hpp>

#include <sys/utsname.h>

#include <string_view>
#include <thread>
#include <vector>

namespace coracle::tools::load {

namespace {

constexpr std::string_view unquoted =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%+";

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(unquoted) == word.npos) return word;
  std::string text = "'";
  for (const char c : word)
    if (c == '\'') text += "'\\''";
    else text += c;
  return text + "'";
}

void add_option(std::string& line, const CLI::Option& option) {
  const bool is_flag = option.get_items_expected_max() == 0;
  const std::string name = option.get_positional() ? std::string() : " --" + option.get_lnames().front();
  if (is_flag) {
    line += name;
    return;
  }
  const std::vector<std::string>& names = option.get_lnames();
  const bool is_header = !names.empty() && (names.front() == "header" || names.front() == "reflect-header");
  for (const std::string& value : option.results())
    line += name + " " + quoted(is_header ? value.substr(0, value.find(':', 1)) + ": ..." : value);
}

std::string command_line_of(const CLI::App& command) {
  std::string line = command.get_parent()->get_name() + " " + command.get_name();
  for (const bool positional : {true, false})
    for (const CLI::Option* one : command.get_options())
      if (one->count() > 0 && one->get_positional() == positional) add_option(line, *one);
  return line;
}

}  // namespace

origin origin_of(const CLI::App& command) {
  origin from;
  from.command = command_line_of(command);
  from.cpus = std::thread::hardware_concurrency();
  utsname names{};
  if (::uname(&names) != 0) return from;
  from.host = names.nodename;
  from.system = std::string(names.sysname) + " " + names.release + " " + names.machine;
  return from;
}

}  // namespace coracle::tools::load
