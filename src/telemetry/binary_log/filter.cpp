#include "telemetry/binary_log/filter.hpp"

#include "base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_method(std::string_view s) noexcept { return !s.empty() && std::all_of(s.begin(), s.end(), is_word); }

bool is_service(std::string_view s) noexcept {
  return !s.empty() && s.front() != '/' &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_word(c) || c == '.' || c == '/'; });
}

status bad(std::string_view why) { return status(status_code::invalid_argument, why); }

// Parses "h", "h:256", "m" and "m:256".
bool read_limit(std::string_view text, char letter, std::uint64_t& limit) noexcept {
  if (text.empty() || text.front() != letter) return false;
  text.remove_prefix(1);
  limit = log_limits::all;
  if (text.empty()) return true;
  if (text.front() != ':' || text.size() == 1) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), limit);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses what follows the method: nothing, "{h}", "{m:256}", "{h:1;m:2}".
std::optional<log_limits> read_limits(std::string_view text) noexcept {
  log_limits limits;
  if (text.empty()) return limits;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return {};
  text = text.substr(1, text.size() - 2);
  const std::size_t between = text.find(';');
  if (between != text.npos) {
    if (read_limit(text.substr(0, between), 'h', limits.header_bytes) &&
        read_limit(text.substr(between + 1), 'm', limits.message_bytes))
      return limits;
    return {};
  }
  if (read_limit(text, 'h', limits.header_bytes)) {
    limits.message_bytes = 0;
    return limits;
  }
  if (!read_limit(text, 'm', limits.message_bytes)) return {};
  limits.header_bytes = 0;
  return limits;
}

constexpr std::string_view limit_forms =
    "what to log is {h}, {m} or {h;m}, each letter with an optional limit in bytes, as in {h:256;m:1024}";

}  // namespace

result<binary_log_filter> binary_log_filter::parse(std::string_view text) {
  binary_log_filter made;
  if (text.empty()) return made;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view rule = text.substr(at, end - at);
    if (const status failure = made.add(rule); !failure.ok())
      return bad("the filter of the binary log is malformed at character " + std::to_string(at + 1) + ", \"" +
                 base::printable(rule) + "\": " + std::string(failure.message()));
    at = end + 1;
  }
  return made;
}

status binary_log_filter::add(std::string_view rule) {
  if (rule.empty()) return bad("a rule is empty: remove the comma");
  if (rule.front() == '-') return exclude(rule.substr(1));
  const std::size_t brace = std::min(rule.find('{'), rule.size());
  const std::string_view name = rule.substr(0, brace);
  const std::optional<log_limits> limits = read_limits(rule.substr(brace));
  if (!limits) return bad(limit_forms);
  if (name == "*") {
    if (std::exchange(everything_, limits)) return bad("there is another rule for \"*\"");
    return {};
  }
  if (name.front() == '/') return bad("remove the slash at the front: a rule is Service/Method");
  const std::size_t slash = name.rfind('/');
  if (slash == name.npos) return bad("a rule is \"*\", Service/*, Service/Method or -Service/Method");
  const std::string_view service = name.substr(0, slash);
  const std::string_view method = name.substr(slash + 1);
  if (service == "*") return bad("a service cannot be \"*\": name it");
  if (!is_service(service)) return bad("the name of the service is malformed");
  if (method == "*") {
    if (!services_.emplace(service, *limits).second) return bad("there is another rule for this service");
    return {};
  }
  if (!is_method(method)) return bad("the name of the method is malformed");
  if (excluded_.contains(name) || !methods_.emplace(name, *limits).second)
    return bad("there is another rule for this method");
  return {};
}

status binary_log_filter::exclude(std::string_view method) {
  const std::size_t slash = method.rfind('/');
  if (slash == method.npos || !is_service(method.substr(0, slash)) || !is_method(method.substr(slash + 1)))
    return bad("what follows \"-\" is Service/Method, without \"*\" and braces");
  if (methods_.contains(method) || !excluded_.emplace(method).second)
    return bad("there is another rule for this method");
  return {};
}

std::optional<log_limits> binary_log_filter::find(std::string_view path) const {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (const auto method = methods_.find(path); method != methods_.end()) return method->second;
  if (excluded_.contains(path)) return {};
  const std::string_view service = path.substr(0, std::min(path.rfind('/'), path.size()));
  if (const auto whole = services_.find(service); whole != services_.end()) return whole->second;
  return everything_;
}

}  // namespace coracle::telemetry_internal
