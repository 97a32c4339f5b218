// numbered_text: a message that contains the number of its call, its own number, and a verifiable text.
#pragma once

#include "echo.pb.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace coracle::swarm {

inline std::string filler(std::uint64_t id, std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, 'a');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (id * 7 + number * 3 + i) % 26);
  return text;
}

inline echo::Text numbered_text(std::uint64_t id, std::uint64_t number, std::size_t bytes) {
  echo::Text t;
  t.set_text(std::to_string(id) + " " + filler(id, number, bytes));
  t.set_count(static_cast<int>(number));
  return t;
}

// Whether this is message `number` of call `id`, unharmed.
inline bool is_numbered(const echo::Text& t, std::uint64_t id, std::uint64_t number) {
  const std::string head = std::to_string(id) + " ";
  if (t.count() != static_cast<int>(number) || t.text().compare(0, head.size(), head) != 0) return false;
  return t.text().compare(head.size(), std::string::npos,
                          filler(id, number, t.text().size() - head.size())) == 0;
}

}  // namespace coracle::swarm
