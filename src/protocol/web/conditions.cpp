#include "protocol/web/conditions.hpp"

#include "http/date.hpp"
#include "protocol/web/ascii.hpp"

namespace coracle::protocol::web {

namespace {

bool is_weak(std::string_view etag) noexcept { return etag.starts_with("W/"); }
std::string_view opaque_tag(std::string_view etag) noexcept { return is_weak(etag) ? etag.substr(2) : etag; }

// RFC 9110 8.8.3.2.
bool equal_strongly(std::string_view a, std::string_view b) noexcept {
  return !is_weak(a) && !is_weak(b) && a == b;
}
bool equal_weakly(std::string_view a, std::string_view b) noexcept { return opaque_tag(a) == opaque_tag(b); }

// Whether a list of entity tags, or "*", contains one that `equal` accepts. Tags may contain commas.
template <class Equal>
bool contains(std::string_view list, std::string_view etag, Equal equal) noexcept {
  if (trim(list) == "*") return true;
  while (!list.empty()) {
    const std::size_t begin = list.find_first_not_of(" \t,");
    if (begin == std::string_view::npos) return false;
    const std::size_t quote = list.find('"', begin);
    const std::size_t end = quote == std::string_view::npos ? quote : list.find('"', quote + 1);
    if (end == std::string_view::npos) return false;
    if (equal(list.substr(begin, end + 1 - begin), etag)) return true;
    list.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

condition_outcome evaluate(const request_conditions& c, const validators& v, std::chrono::sys_seconds now) {
  if (c.if_match) {
    if (!contains(*c.if_match, v.etag, equal_strongly)) return condition_outcome::failed;
  } else if (c.if_unmodified_since) {
    const auto date = http::parse_date(*c.if_unmodified_since, now);
    if (date && v.modified > *date) return condition_outcome::failed;
  }
  if (c.if_none_match) {
    if (contains(*c.if_none_match, v.etag, equal_weakly)) return condition_outcome::not_modified;
  } else if (c.if_modified_since) {
    const auto date = http::parse_date(*c.if_modified_since, now);
    if (date && v.modified <= *date) return condition_outcome::not_modified;
  }
  return condition_outcome::proceed;
}

bool permits_range(const request_conditions& c, const validators& v, std::chrono::sys_seconds now) {
  if (!c.if_range) return true;
  const std::string_view value = trim(*c.if_range);
  if (value.find('"') != std::string_view::npos) return equal_strongly(value, v.etag);
  return http::parse_date(value, now) == v.modified;
}

}  // namespace coracle::protocol::web
