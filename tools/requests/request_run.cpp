#include "tools/requests/request_run.hpp"

#include "tools/call/exchange.hpp"
#include "tools/failure.hpp"
#include "tools/format/invalid_message.hpp"
#include "tools/manual/closest_words.hpp"
#include "tools/manual/command_names.hpp"
#include "tools/requests/expected_json.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <google/protobuf/descriptor.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;
using ordered_json = nlohmann::ordered_json;

// Paths in a file count from its folder, so that the file works from every folder. A name that is looked
// for in a folder of --import is left alone.
std::string path_from(const std::string& file, const std::string& value) {
  const fs::path there = fs::path(file).parent_path() / value;
  std::error_code unknown;
  return fs::path(value).is_relative() && fs::exists(there, unknown) ? there.string() : value;
}

// How deep objects and arrays stand in each other.
std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    else if (in_string) i += c == '\\' ? 1 : 0;
    else if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    else if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return deepest;
}

ordered_json parsed_json(const file_text& text, const std::string& path) {
  constexpr std::size_t levels_max = 100;  // that of messages
  if (depth_of(text.text) > levels_max)
    throw failure(location(path, text.line) + "this is nested deeper than " + std::to_string(levels_max) +
                  " levels");
  ordered_json value = ordered_json::parse(text.text, nullptr, false);
  if (value.is_discarded()) throw failure(location(path, text.line) + "this is not valid JSON: " + text.text);
  return value;
}

void compare_status(const status& outcome, const expected_outcome& expected, const std::string& at,
                    request_result& to) {
  const std::string message(outcome.message());
  const std::string found = to.outcome + (message.empty() ? "" : ": " + message);
  if (to.outcome != expected.status)
    to.problems.push_back(at + "the status is " + found + ", expected " + expected.status);
  else if (message.find(expected.message) == message.npos)
    to.problems.push_back(at + "the message is '" + message + "', which does not contain '" +
                          expected.message + "'");
}

void compare_replies(std::string_view received, const expected_outcome& expected, const std::string& path,
                     request_result& to) {
  if (expected.replies.empty() && !expected.more_replies) return;
  const std::vector<std::string_view> replies = lines_of(received);
  const std::size_t count = expected.replies.size();
  if (replies.size() < count || (replies.size() > count && !expected.more_replies))
    to.problems.push_back(location(path, expected.line) + std::to_string(replies.size()) +
                          (replies.size() == 1 ? " reply" : " replies") + ", expected " +
                          std::to_string(count) + (expected.more_replies ? " or more" : ""));
  for (std::size_t i = 0; i < std::min(count, replies.size()); ++i) {
    const file_text& wanted = expected.replies[i];
    const ordered_json reply = ordered_json::parse(replies[i], nullptr, false);
    const ordered_json expected_json = parsed_json(wanted, path);
    try {
      for (const std::string& text : differences(expected_json, reply))
        to.problems.push_back(location(path, wanted.line) +
                              (count > 1 ? "reply " + std::to_string(i + 1) + ": " : "") + text);
    } catch (const failure& error) {
      throw failure(location(path, wanted.line) + error.what());
    }
  }
}

// Checks the messages before the call, so that an error names its line in the file.
void check_messages(const saved_request& one, messages& typed, const std::string& path) {
  for (const file_text& text : one.messages) try {
      static_cast<void>(typed.requests->bytes(text.text));
    } catch (const invalid_message& error) {
      const std::size_t lines_before = error.place().line == 0 ? 0 : error.place().line - 1;
      const std::string column =
          error.place().line == 0 ? "" : "column " + std::to_string(error.place().column) + ": ";
      throw failure(location(path, text.line + lines_before) + column + error.reason() + error.excerpt(),
                    error.hint());
    }
}

// A name with a typing error would be missing in each reply, and equal a default.
void check_expected(const saved_request& one, const pb::Descriptor& reply, const std::string& path) {
  if (!one.expected) return;
  for (const file_text& text : one.expected->replies) {
    const auto unknown = find_unknown_field(parsed_json(text, path), reply);
    if (!unknown) continue;
    const std::string_view before =
        std::string_view(text.text).substr(0, text.text.find('"' + unknown->name + '"'));
    const auto line = text.line + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    std::vector<std::string> names;
    for (int i = 0; i < unknown->type->field_count(); ++i)
      names.emplace_back(unknown->type->field(i)->json_name());
    const std::vector<std::string> meant = closest_words(unknown->name, names);
    throw failure(location(path, line) + "there is no field '" + unknown->name + "'" +
                  (meant.empty() ? " in " + std::string(unknown->type->full_name()) : suggestion(meant)));
  }
}

}  // namespace

bool has_path(std::string_view option) {
  constexpr std::string_view all[] = {"ca", "cert", "key", "proto", "import", "protoset", "http-rules"};
  return std::find(std::begin(all), std::end(all), option) != std::end(all);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

namespace {

constexpr const char* test_timeout = "20s";

// Whether the option, by its name without dashes, says how the address of the file is secured.
bool secures_address(std::string_view option) {
  constexpr std::string_view all[] = {"plaintext", "ca", "cert", "key", "server-name", "no-verify"};
  return std::find(std::begin(all), std::end(all), option) != std::end(all);
}

}  // namespace

bool request_runner::overrides(const CLI::Option& option) const {
  if (option.get_lnames().empty()) return false;
  const CLI::Option* const same = typed_.get_option_no_throw("--" + option.get_lnames().front());
  return same && same->count() > 0 && option.get_lnames().front() != "header";
}

std::vector<std::string> request_runner::words_of(const saved_request& one, const std::string& path,
                                                  const CLI::App& line) const {
  std::vector<std::string> words;
  const std::string& address = address_.empty() ? one.address : address_;
  if (address.empty())
    throw usage_failure(location(path, one.line) +
                        "there is no address: write CALL ADDRESS METHOD, or give one on the command line");
  words.push_back(address);
  for (const file_text& text : one.options) {
    const std::size_t end = std::min(text.text.find_first_of(" ="), text.text.size());
    const std::string name = text.text.substr(0, end);
    const CLI::Option* const option = line.get_option_no_throw(name);
    if (!option || option->get_lnames().empty())
      throw usage_failure(location(path, text.line) + "there is no option " + name + " here" +
                          suggestion(closest_words(name, flags_of(line))) +
                          " those of the connection and the definitions apply");
    const std::string& long_name = option->get_lnames().front();
    if (overrides(*option) || (!address_.empty() && secures_address(long_name))) continue;
    std::string word = "--" + long_name;
    if (option->get_expected_max() > 0) {
      const std::size_t begin = std::min(text.text.find_first_not_of(' ', end + 1), text.text.size());
      const std::string value = text.text.substr(begin);
      if (value.empty()) throw usage_failure(location(path, text.line) + name + " takes a value");
      word += "=" + (has_path(long_name) ? path_from(path, value) : value);
    }
    words.push_back(std::move(word));
  }
  for (const file_text& text : one.metadata) words.push_back("--header=" + text.text);
  add_typed(words, line);
  return words;
}

void request_runner::add_typed(std::vector<std::string>& words, const CLI::App& line) const {
  for (const CLI::Option* const given : typed_.get_options()) {
    if (given->count() == 0 || given->get_lnames().empty()) continue;
    const std::string name = "--" + given->get_lnames().front();
    if (!line.get_option_no_throw(name)) continue;
    if (given->get_expected_max() == 0) words.push_back(name);
    else
      for (const std::string& value : given->results()) words.push_back(name + "=" + value);
  }
}

void request_runner::check() const {
  CLI::App line;
  session at;
  at.add_to(line, endpoint::address_use::optional);
  at.add_protocol_to(line);
  std::vector<std::string> words;
  if (!address_.empty()) words.push_back(address_);
  add_typed(words, line);
  std::reverse(words.begin(), words.end());
  try {
    line.parse(words);
  } catch (const CLI::ParseError& error) {
    throw usage_failure(error.what());
  }
  static_cast<void>(at.where().options());
  if (address_.empty()) return;  // that of a file may belong to the other options
  static_cast<void>(at.where().address());
  static_cast<void>(at.where().credentials());
}

request_result request_runner::run(const saved_request& one, const std::string& path) const {
  const std::string at_call = location(path, one.line);
  CLI::App line;
  session at;
  at.add_to(line, endpoint::address_use::optional);
  at.add_protocol_to(line);
  // A server that does not answer must not stop a pipeline. A target may set another deadline.
  if (!shows_) line.get_option("--timeout")->default_val(test_timeout);
  std::vector<std::string> words = words_of(one, path, line);
  std::reverse(words.begin(), words.end());
  try {
    line.parse(words);
  } catch (const CLI::ParseError& error) {
    throw usage_failure(at_call + error.what());
  }
  try {
    const pb::MethodDescriptor& method = at.types().method(one.method);
    messages typed(at.types(), method);
    check_messages(one, typed, path);
    check_expected(one, *method.output_type(), path);
    std::vector<std::string> data;
    for (const file_text& text : one.messages) data.push_back(text.text);
    if (data.empty() && method.client_streaming()) data.emplace_back();  // a stream without messages
    request_source requests(data, message_syntax::json);
    call_printer printer(false);
    const pb::MethodDescriptor* const methods[] = {&method};
    const channel server = at.caller(methods);
    exchange::transcript kept;
    exchange::style style;
    style.printed = shows_;
    exchange made(server, method, typed, requests, printer, style, at.where().protocol(), &kept);
    const auto began = std::chrono::steady_clock::now();
    const status outcome = sync_wait(at.on(), made.run());
    request_result result;
    result.took = std::chrono::steady_clock::now() - began;
    result.outcome = name_of(outcome.code());
    result.code = static_cast<int>(outcome.code());
    if (shows_ && !one.expected) {
      printer.print_end(outcome, made.trailers(), at.types(), at.where());
      return result;
    }
    const expected_outcome expected = one.expected.value_or(expected_outcome());
    compare_status(outcome, expected, one.expected ? location(path, expected.line) : at_call, result);
    compare_replies(kept.replies, expected, path, result);
    return result;
  } catch (const call_failure& error) {
    throw call_failure(static_cast<status_code>(error.exit_code()), at_call + error.what(), error.hint());
  } catch (const usage_failure& error) {
    throw usage_failure(at_call + error.what(), error.hint());
  } catch (const output_failure&) {
    throw;
  } catch (const failure& error) {
    const std::string text = error.what();
    throw failure(text.starts_with(path + ":") ? text : at_call + text, error.hint());
  }
}

std::vector<saved_request> requests_in(const std::string& path, const std::string& part) {
  std::vector<saved_request> all = parse_requests(requests_text(path), path);
  std::erase_if(all, [&](const saved_request& one) { return one.title().find(part) == std::string::npos; });
  if (all.empty()) throw failure(path + " has no request whose name contains '" + part + "'");
  return all;
}

}  // namespace coracle::tools
