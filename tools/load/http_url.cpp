#include "tools/load/http_url.hpp"

#include "tools/failure.hpp"

#include <charconv>
#include <system_error>

namespace coracle::tools::load {

http_url::http_url(std::string_view text) {
  const auto refuse = [&] {
    return usage_failure("--rest is http://host:port/path, in plaintext, not '" + std::string(text) + "'");
  };
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) throw refuse();
  const std::string_view rest = text.substr(scheme.size());
  const std::size_t slash = rest.find('/');
  authority_ = rest.substr(0, slash);
  path_ = slash == rest.npos ? "/" : rest.substr(slash, rest.find('#') - slash);
  for (const char c : rest)
    if (c <= ' ' || c == 0x7f) throw refuse();

  const std::size_t bracket = authority_.rfind(']');
  const std::size_t colon = authority_.rfind(':');
  const bool has_port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  host_ = authority_.substr(0, has_port ? colon : std::string::npos);
  if (host_.starts_with('[') && host_.ends_with(']')) host_ = host_.substr(1, host_.size() - 2);
  if (host_.empty() || host_.find('@') != std::string::npos) throw refuse();
  if (!has_port) return;
  const char* const begin = authority_.data() + colon + 1;
  const char* const end = authority_.data() + authority_.size();
  const auto [read, error] = std::from_chars(begin, end, port_);
  if (error != std::errc() || read != end || port_ == 0) throw refuse();
}

}  // namespace coracle::tools::load
