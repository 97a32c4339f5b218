#include "tools/exit_codes.hpp"

#include "tools/wrapped_text.hpp"

#include <cstddef>
#include <string_view>

namespace coracle::tools {

namespace {

constexpr std::size_t code_width = 10;

void add(std::string& to, const exit_code& one) {
  const std::string_view code = one.code;
  to.append("  ").append(code).append(code_width - 2 - code.size(), ' ');
  add_wrapped(to, one.meaning, code_width);
}

}  // namespace

std::string exit_code_table() {
  std::string all = "Exit codes of all commands but health:\n";
  for (const exit_code& one : exit_codes) add(all, one);
  all += "\nExit codes of health:\n";
  for (const exit_code& one : health_exit_codes) add(all, one);
  return all;
}

}  // namespace coracle::tools
