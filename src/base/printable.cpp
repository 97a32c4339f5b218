#include "base/printable.hpp"

namespace coracle::base {

std::string printable(std::string_view untrusted, std::size_t max_bytes) {
  std::string text(untrusted.substr(0, max_bytes));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  if (untrusted.size() > max_bytes) text.append("...");
  return text;
}

}  // namespace coracle::base
