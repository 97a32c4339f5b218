#include "tools/requests/save_request.hpp"

#include "tools/diagnostics.hpp"
#include "tools/files/replaced_file.hpp"
#include "tools/requests/request_file.hpp"
#include "tools/requests/request_run.hpp"
#include "tools/schema/session.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string_view>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t saved_replies_max = 100;

std::string existing(const std::string& path) {
  std::error_code unknown;
  return fs::exists(path, unknown) ? requests_text(path) : std::string();
}

// As seen from the folder of the file, from which it counts there.
std::string path_for(const std::string& file, const std::string& value) {
  std::error_code error;
  if (!fs::path(value).is_relative() || !fs::exists(value, error)) return value;
  const fs::path folder = fs::absolute(file).parent_path();
  const fs::path relative = fs::relative(fs::absolute(value), folder, error);
  return error || relative.empty() ? value : relative.string();
}

// Whether the address is host:port: http:// in front of it says that it is without TLS.
bool has_only_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == address.npos || colon == 0 || colon + 1 == address.size() ||
      address.find_first_not_of("0123456789", colon + 1) != address.npos)
    return false;
  const std::string_view host = address.substr(0, colon);
  return (host.starts_with('[') && host.ends_with(']')) || host.find_first_of(":/@[]") == host.npos;
}

// "AddMovie 2" if the requests of the file have the name.
std::string new_name(const std::string& name, const std::string& text, const std::string& path) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) return name;
  std::set<std::string> taken;
  for (const saved_request& one : parse_requests(text, path)) taken.insert(one.title());
  std::string made = name;
  for (std::size_t number = 2; taken.contains(made); ++number) made = name + " " + std::to_string(number);
  return made;
}

// As the console judges it: words of names of metadata that is secret.
bool is_secret(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::string_view names[] = {"authorization", "proxy-authorization", "cookie", "set-cookie"};
  constexpr std::string_view parts[] = {"token",  "secret",  "password", "passwd",
                                        "apikey", "api-key", "session",  "credential"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names) ||
         std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return name.find(part) != name.npos; });
}

// The metadata with a variable of the environment in place of a secret, which a file must not have.
std::string without_secret(const std::string& line) {
  const std::size_t colon = line.find(':', 1);
  if (colon == line.npos || line.find("${") != line.npos) return line;
  const std::string name = line.substr(0, colon);
  if (!is_secret(name) || line.find_first_not_of(' ', colon + 1) == line.npos) return line;
  std::string variable;
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') variable += static_cast<char>(c - 'a' + 'A');
    else variable += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  }
  print_warning("the value of '" + terminal_line(name) + "' is not saved: the file has ${" + variable +
                    "} in its place",
                "set the environment variable " + variable + " for `coracle test`");
  return name + ": ${" + variable + "}";
}

}  // namespace

void check_requests_file(const std::string& path) {
  const std::string text = existing(path);
  check_replaceable(path);
  if (text.find_first_not_of(" \t\r\n") != text.npos) static_cast<void>(parse_requests(text, path));
}

void save_request(const std::string& path, const CLI::App& typed, const endpoint& where,
                  const google::protobuf::MethodDescriptor& method, const exchange::transcript& kept,
                  const status& outcome) {
  std::string saved = existing(path);
  saved_request one;
  one.name = new_name(std::string(method.name()), saved, path);
  one.method = path_of(method).substr(1);
  one.address = typed.get_option("ADDRESS")->results().front();  // not what it stands for
  const bool plaintext_in_address = where.plaintext() && has_only_port(one.address);
  if (plaintext_in_address) one.address.insert(0, "http://");

  CLI::App known;  // the options that may stand in a file
  session scratch;
  scratch.add_to(known, endpoint::address_use::none);
  scratch.add_protocol_to(known);
  for (const CLI::Option* const given : typed.get_options()) {
    if (given->count() == 0 || given->get_lnames().empty()) continue;
    const std::string& long_name = given->get_lnames().front();
    const std::string name = "--" + long_name;
    if (!known.get_option_no_throw(name)) continue;
    if (where.is_from_target(name) || (plaintext_in_address && long_name == "plaintext")) continue;
    for (const std::string& value : given->results()) {
      if (long_name == "header") one.metadata.push_back({without_secret(value), 0});
      else if (long_name == "reflect-header") one.options.push_back({name + " " + without_secret(value), 0});
      else if (given->get_expected_max() == 0) one.options.push_back({name, 0});
      else one.options.push_back({name + " " + (has_path(long_name) ? path_for(path, value) : value), 0});
    }
  }

  for (const std::string& text : kept.requests) one.messages.push_back({text, 0});
  expected_outcome& expected = one.expected.emplace();
  expected.status = name_of(outcome.code());
  expected.message = outcome.message().substr(0, outcome.message().find('\n'));
  for (const std::string_view line : lines_of(kept.replies)) {
    if (expected.replies.size() == saved_replies_max) {
      expected.more_replies = true;
      break;
    }
    expected.replies.push_back({std::string(line), 0});
  }

  if (!saved.empty()) saved += saved.ends_with('\n') ? "\n" : "\n\n";
  replace_file(path, saved + text_of(one));
}

}  // namespace coracle::tools
