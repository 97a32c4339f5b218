#include "xds/security/subject_names.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace coracle::xds {

namespace {

// RFC 9525 6.3: "*" is the whole first label, and stands for exactly one.
bool is_name_of(std::string_view of_certificate, std::string_view host) {
  const auto absolute = [](std::string_view name) {
    std::string lower = lower_case(name);
    if (!lower.ends_with('.')) lower += '.';
    return lower;
  };
  const std::string pattern = absolute(of_certificate);
  const std::string name = absolute(host);
  if (pattern == name) return true;
  if (!pattern.starts_with("*.") || pattern == "*." || pattern.find('*', 1) != pattern.npos) return false;
  const auto dot = name.find('.');
  return dot > 0 && std::string_view(name).substr(dot) == std::string_view(pattern).substr(1);
}

bool fits(const text_matcher& m, const peer_identity& name) {
  if (m.how == text_matcher::kind::exact && name.type() == peer_identity::kind::dns_name)
    return is_name_of(name.value(), m.text);
  return m.matches(name.value());
}

}  // namespace

bool has_accepted_name(const std::vector<text_matcher>& accepted, const std::vector<peer_identity>& names) {
  if (accepted.empty()) return true;
  return std::ranges::any_of(names, [&](const peer_identity& name) {
    return name.type() != peer_identity::kind::common_name &&
           std::ranges::any_of(accepted, [&](const text_matcher& m) { return fits(m, name); });
  });
}

}  // namespace coracle::xds
