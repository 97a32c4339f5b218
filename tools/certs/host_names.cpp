#include "tools/certs/host_names.hpp"

#include "tools/failure.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>

namespace coracle::tools {

namespace {

bool is_address(const std::string& text) {
  in6_addr room;  // large enough for either family
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '_'; });
}

bool is_dns_name(std::string_view name) {
  if (name.size() > 253) return false;
  if (name.starts_with("*.")) name.remove_prefix(2);
  for (;;) {
    const auto length = std::min(name.find('.'), name.size());
    const auto label = name.substr(0, length);
    if (!is_label(label)) return false;
    // A name whose last label is a number is an invalid address, such as 127.0.0.256.
    if (length == name.size()) return !std::all_of(label.begin(), label.end(), is_digit);
    name.remove_prefix(length + 1);
  }
}

// "." and ".." are paths, and so is all with a slash but networks, such as 10.0.0.0/8.
bool is_path(std::string_view text) {
  if (text == "." || text == "..") return true;
  const auto slash = text.rfind('/');
  if (slash == text.npos) return false;
  const auto last = text.substr(slash + 1);
  return last.empty() || !std::all_of(last.begin(), last.end(), is_digit);
}

// Suggests what was probably meant.
std::string_view fix_of(const std::string& text) {
  if (text.find("://") != text.npos) return "write only the host of the URL";
  if (is_path(text))
    return "the folder for the files is set with --out, beside at least one host of the server";
  if (text.find('/') != text.npos) return "write single hosts, not networks";
  if (text.starts_with('[')) return "write an IPv6 address without brackets and port, as ::1";
  if (text.find('%') != text.npos) return "remove the zone: certificates do not support zones";
  if (std::count(text.begin(), text.end(), ':') == 1)
    return "remove the port: a certificate is valid for all ports of a host";
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return "write an international name in its ASCII form, which begins with xn--";
  if (text.ends_with('.')) return "remove the final dot";
  return "names look like localhost, api.example.org or *.example.org, addresses like 127.0.0.1 or ::1";
}

}  // namespace

std::string subject_alternative_names(const std::vector<std::string>& names) {
  std::vector<std::string> entries;
  for (const auto& name : names) {
    const bool address = is_address(name);
    if (!address && !is_dns_name(name))
      throw usage_failure(std::string("'")
                              .append(name)
                              .append("' is neither a DNS name nor an IP address: ")
                              .append(fix_of(name)));
    auto entry = std::string(address ? "IP:" : "DNS:").append(name);
    if (std::find(entries.begin(), entries.end(), entry) == entries.end())
      entries.push_back(std::move(entry));
  }
  std::string all;
  for (const auto& entry : entries) all.append(all.empty() ? "" : ",").append(entry);
  return all;
}

}  // namespace coracle::tools
