#include "base/printable.hpp"

namespace coracle::base {

std::string printable(std::string_view from_afar, std::size_t most) {
  std::string text(from_afar.substr(0, most));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  if (from_afar.size() > most) text.append("...");
  return text;
}

}  // namespace coracle::base
