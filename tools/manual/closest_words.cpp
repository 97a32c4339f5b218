#include "tools/manual/closest_words.hpp"

#include <algorithm>
#include <cstddef>

namespace coracle::tools {

namespace {

// Computes the optimal string alignment distance, with three rows of its table.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> closest_words(std::string_view typed, const std::vector<std::string>& candidates) {
  constexpr std::size_t typed_max = 64;  // bounds the table; no name is that long
  constexpr std::size_t letters_min = 2;
  std::vector<std::string> found;
  const std::string_view letters = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  // For a single letter, every other letter is equally close.
  if (letters.size() < letters_min || typed.size() > typed_max) return found;
  for (const std::string& one : candidates)
    if (one.starts_with(typed)) found.push_back(one);
  if (!found.empty()) return found;
  std::size_t best = (letters.size() + 2) / 3;
  for (const std::string& one : candidates) {
    const std::size_t d = distance(typed, one);
    if (d > best) continue;
    if (d < best) found.clear();
    best = d;
    found.push_back(one);
  }
  return found;
}

std::string suggestion(const std::vector<std::string>& words) {
  if (words.empty()) return ";";
  std::string text = "; did you mean '" + words.front();
  for (std::size_t i = 1; i < words.size(); ++i)
    text += (i + 1 < words.size() ? "', '" : "' or '") + words[i];
  return text + "'?";
}

}  // namespace coracle::tools
