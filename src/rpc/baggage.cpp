#include "coracle/rpc/baggage.hpp"

#include "base/percent.hpp"
#include "base/trimmed.hpp"

#include <algorithm>

namespace coracle {

namespace {

bool is_token(std::string_view key) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !key.empty() && std::all_of(key.begin(), key.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

// A baggage-octet: a character that a value may contain without encoding.
bool is_plain(char c) noexcept {
  return c == '!' || (c >= '#' && c <= '~' && c != ',' && c != ';' && c != '\\' && c != '%');
}

std::string encode(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (is_plain(c)) out.push_back(c);
    else base::percent_escape(c, out);
  }
  return out;
}

}  // namespace

baggage baggage::parse(std::string_view header) {
  baggage all;
  if (header.size() > bytes_max) return all;
  while (!header.empty()) {
    const std::size_t comma = std::min(header.find(','), header.size());
    const std::string_view one = base::trimmed(header.substr(0, comma));
    header.remove_prefix(std::min(comma + 1, header.size()));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = base::trimmed(one.substr(0, equals));
    if (!is_token(key)) continue;
    all.remove(key);
    all.members_.push_back({std::string(key), std::string(base::trimmed(one.substr(equals + 1)))});
    if (all.members_.size() > members_max) return {};
  }
  return all;
}

std::vector<baggage::member>::iterator baggage::place_of(std::string_view key) {
  return std::find_if(members_.begin(), members_.end(), [&](const member& m) { return m.key == key; });
}

std::size_t baggage::bytes_without(std::string_view key) const noexcept {
  std::size_t n = 0;
  for (const member& m : members_)
    if (m.key != key) n += m.key.size() + m.encoded.size() + 2;  // '=' and ','
  return n;
}

bool baggage::set(std::string_view key, std::string_view value) {
  std::string encoded = encode(value);
  if (!is_token(key) || bytes_without(key) + key.size() + encoded.size() + 1 > bytes_max) return false;
  if (const auto at = place_of(key); at != members_.end()) {
    at->encoded = std::move(encoded);
    return true;
  }
  if (members_.size() == members_max) return false;
  members_.push_back({std::string(key), std::move(encoded)});
  return true;
}

void baggage::remove(std::string_view key) {
  if (const auto at = place_of(key); at != members_.end()) members_.erase(at);
}

std::optional<std::string> baggage::find(std::string_view key) const {
  for (const member& m : members_) {
    if (m.key != key) continue;
    const std::string_view value = std::string_view(m.encoded).substr(0, m.encoded.find(';'));
    return base::percent_decode(base::trimmed(value));
  }
  return std::nullopt;
}

std::string baggage::header() const {
  std::string text;
  for (const member& m : members_) {
    if (!text.empty()) text.push_back(',');
    text.append(m.key).append("=").append(m.encoded);
  }
  return text;
}

}  // namespace coracle
