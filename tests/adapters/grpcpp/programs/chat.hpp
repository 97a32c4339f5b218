// The chat without its calls: what members say, and in which order they hear it, whichever API they use.
#pragma once

#include "program.hpp"

#include <map>
#include <string>
#include <vector>

namespace programs {

constexpr int chat_lines_of_each = 50;

inline program_services::Line chat_line(const std::string& from, const std::string& text, int number = 0) {
  program_services::Line line;
  line.set_from(from);
  line.set_text(text);
  line.set_number(number);
  return line;
}

inline std::string chat_text(int i) { return "line " + std::to_string(i) + std::string(i * 100, '.'); }

// The lines of each member come in their order, and those of all in the server's.
inline bool in_order(const std::vector<program_services::Line>& heard) {
  std::map<std::string, int> next;
  int number = 0;
  for (const program_services::Line& line : heard) {
    if (line.number() != number++) return false;
    if (line.from() != "server" && line.text() != chat_text(next[line.from()]++)) return false;
  }
  return true;
}

inline std::string shown_end(const grpc::Status& status, const grpc::ClientContext& context) {
  return shown(status) + " " + value_of(context.GetServerInitialMetadata(), "welcome");
}

}  // namespace programs
