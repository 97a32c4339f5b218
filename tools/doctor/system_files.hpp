// system_files: small files of /proc and /sys.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace coracle::tools::doctor {

// The content of a file without the line end; nothing if there is no such file.
inline std::optional<std::string> text_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

// The first number of a file; nothing if there is none ("max").
inline std::optional<unsigned long long> number_in(const std::string& path) {
  const auto text = text_of(path);
  unsigned long long n = 0;
  if (!text || !(std::istringstream(*text) >> n)) return std::nullopt;
  return n;
}

// The value of the line "name: value" of a file such as /proc/self/status.
inline std::optional<std::string> field_in(const std::string& path, std::string_view name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      const auto at = line.find_first_not_of(" \t", name.size() + 1);
      return at == line.npos ? std::string() : line.substr(at);
    }
  return std::nullopt;
}

// "512 MiB", in the largest unit that leaves at least 1.
inline std::string in_bytes(unsigned long long bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  std::ostringstream text;
  text.precision(value < 10 && unit > 0 ? 2 : 4);
  text << value << " " << units[unit];
  return text.str();
}

}  // namespace coracle::tools::doctor
