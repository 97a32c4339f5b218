#include "xds/resource/matchers.hpp"

#include "base/printable.hpp"

namespace coracle::xds {

regex matcher_reader::expression(const wire::RegexMatcher& m, const field_path& at, regex::groups capture) {
  if (++expressions_ > limits::regexes_per_resource_max)
    at.refuse("exceeds " + std::to_string(limits::regexes_per_resource_max) +
              " regular expressions in a resource");
  if (of_response_.left == 0)
    at.refuse("exceeds " + std::to_string(limits::regexes_max) + " regular expressions in a response");
  --of_response_.left;
  auto compiled = regex::compile(m.regex(), capture);
  if (!compiled) {
    at.refuse("is not a regular expression of RE2 within " + std::to_string(limits::regex_bytes_max) +
              " bytes: \"" + base::printable(m.regex()) + "\"");
  }
  return *std::move(compiled);
}

void matcher_reader::count_condition(const field_path& at) {
  if (of_response_.conditions_left == 0)
    at.refuse("exceeds " + std::to_string(limits::rbac_conditions_max) +
              " permissions and principals in a response");
  --of_response_.conditions_left;
}

text_matcher matcher_reader::text(const wire::StringMatcher& m, const field_path& at) {
  using kind = text_matcher::kind;
  text_matcher to;
  const auto with = [&](kind how, const std::string& text) {
    if (text.empty() && how != kind::exact) at.refuse("has an empty prefix, suffix or contains");
    to = {how, m.ignore_case(), m.ignore_case() ? lower_case(text) : text, {}};
  };
  switch (m.pattern_case()) {
    case wire::StringMatcher::kExact: with(kind::exact, m.exact()); break;
    case wire::StringMatcher::kPrefix: with(kind::prefix, m.prefix()); break;
    case wire::StringMatcher::kSuffix: with(kind::suffix, m.suffix()); break;
    case wire::StringMatcher::kContains: with(kind::contains, m.contains()); break;
    case wire::StringMatcher::kSafeRegex:
      to.how = kind::expression;
      to.expression = expression(m.safe_regex(), at.at("safe_regex"));
      break;
    default: at.refuse("has no string matcher that is supported");
  }
  return to;
}

header_matcher matcher_reader::header(const wire::HeaderMatcher& m, const field_path& at) {
  using kind = text_matcher::kind;
  header_matcher to;
  to.name = lower_case(m.name());
  if (to.name.empty()) at.refuse("has no name");
  to.invert = m.invert_match();
  const auto with = [&](kind how, const std::string& text) {
    to.condition = text_matcher{how, false, text, {}};
  };
  switch (m.pattern_case()) {
    case wire::HeaderMatcher::kExactMatch: with(kind::exact, m.exact_match()); break;
    case wire::HeaderMatcher::kPrefixMatch: with(kind::prefix, m.prefix_match()); break;
    case wire::HeaderMatcher::kSuffixMatch: with(kind::suffix, m.suffix_match()); break;
    case wire::HeaderMatcher::kContainsMatch: with(kind::contains, m.contains_match()); break;
    case wire::HeaderMatcher::kSafeRegexMatch:
      to.condition = text_matcher{
          kind::expression, false, {}, expression(m.safe_regex_match(), at.at("safe_regex_match"))};
      break;
    case wire::HeaderMatcher::kRangeMatch:
      if (m.range_match().start() > m.range_match().end())
        at.at("range_match").refuse("ends before it starts");
      to.condition = header_matcher::range{m.range_match().start(), m.range_match().end()};
      break;
    case wire::HeaderMatcher::kPresentMatch:
      to.condition = header_matcher::presence{m.present_match()};
      break;
    case wire::HeaderMatcher::kStringMatch:
      to.condition = text(m.string_match(), at.at("string_match"));
      break;
    default: at.refuse("has an unrecognized header matcher");
  }
  return to;
}

}  // namespace coracle::xds
