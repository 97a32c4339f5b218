#include "xds/routing/text_matcher.hpp"

#include "xds/limits.hpp"

#include <re2/re2.h>

#include <algorithm>

namespace coracle::xds {

std::optional<regex> regex::compile(std::string_view pattern, groups capture) {
  if (pattern.size() > limits::regex_bytes_max) return std::nullopt;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(limits::regex_memory_bytes_max);
  options.set_never_capture(capture == groups::ignored);
  auto compiled = std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) return std::nullopt;
  return regex(std::move(compiled));
}

bool regex::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

bool regex::can_substitute(std::string_view substitution) const {
  std::string why;
  return compiled_->CheckRewriteString(re2::StringPiece(substitution.data(), substitution.size()), &why);
}

std::string regex::replaced(std::string_view text, std::string_view substitution) const {
  std::string to(text);
  re2::RE2::GlobalReplace(&to, *compiled_, re2::StringPiece(substitution.data(), substitution.size()));
  return to;
}

const std::string& regex::pattern() const noexcept { return compiled_->pattern(); }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool text_matcher::matches_otherwise(std::string_view value) const {
  if (how == kind::expression) return expression->matches(value);
  std::string lower;
  if (ignore_case) value = lower = lower_case(value);
  switch (how) {
    case kind::exact: return value == text;
    case kind::prefix: return value.starts_with(text);
    case kind::suffix: return value.ends_with(text);
    default: return value.find(text) != value.npos;
  }
}

}  // namespace coracle::xds
