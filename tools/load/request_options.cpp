#include "tools/load/request_options.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/format/json_splitter.hpp"
#include "tools/load/fixed_requests.hpp"
#include "tools/load/json_requests.hpp"
#include "tools/load/quantities.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace coracle::tools::load {

namespace {

const std::map<std::string, call_kind> kinds = {{"unary", call_kind::unary},
                                                {"client-streaming", call_kind::client_streaming},
                                                {"server-streaming", call_kind::server_streaming},
                                                {"bidi", call_kind::bidi}};

bool sends_streams(const method_mix& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all.at(i).kind() == call_kind::client_streaming || all.at(i).kind() == call_kind::bidi) return true;
  return false;
}

// Parses "METHOD=3".
std::pair<std::string, std::uint32_t> weighted(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) return {text, 1};
  std::uint32_t weight = 0;
  const char* const begin = text.data() + equals + 1;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(begin, end, weight);
  if (error != std::errc() || read != end || weight == 0 || weight > method_mix::weight_max)
    throw usage_failure("the weight in '" + text + "' is a number from 1 to " +
                        std::to_string(method_mix::weight_max));
  return {text.substr(0, equals), weight};
}

// The text if it is short, otherwise its size and the hash FNV-1a: "1,201 bytes (7f0a3c51)".
std::string fingerprint(std::string_view content) {
  constexpr std::size_t shown_max = 200;
  if (content.size() <= shown_max) return std::string(content);
  std::uint32_t hash = 2166136261u;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", static_cast<unsigned>(hash));
  return format_count(content.size()) + " bytes (" + text.data() + ")";
}

}  // namespace

void request_options::add_to(CLI::App& command) {
  constexpr const char* group = "Requests";
  command.add_option("METHOD", names_,
                     "package.Service/Method; several share the calls by their weights: METHOD=WEIGHT");
  command
      .add_option("-d,--data", data_,
                  "The request as JSON, or @FILE, once for each METHOD; {{call}}, {{user}}, {{message}} and "
                  "{{random}} stand for numbers; a client stream sends all values in turn")
      ->type_name("JSON")
      ->group(group)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option(
          "--data-file", data_file_,
          "Rows of values for {{column}} in --data, from a .csv file or a .jsonl file; each call gets a row")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--data-order", data_order_, "The order of the rows")
      ->group(group)
      ->check(CLI::IsMember({"sequential", "random"}))
      ->capture_default_str();
  command.add_option("--raw", raw_, "A file with the serialized bytes of a message, in place of --data")
      ->type_name("FILE")
      ->group(group)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--kind", kind_, "The kind of the method, for --raw")
      ->group(group)
      ->check(CLI::IsMember(kinds));
  command.add_option("--messages", messages_, "The number of messages that a client stream sends")
      ->type_name("N")
      ->group(group);
}

std::vector<const google::protobuf::MethodDescriptor*> request_options::methods(session& at) const {
  std::vector<const google::protobuf::MethodDescriptor*> all;
  if (raw_.empty())
    for (const std::string& one : names_) all.push_back(&at.types().method(weighted(one).first));
  return all;
}

method_mix request_options::mix(session& at) {
  method_mix all;
  if (names_.empty())
    throw usage_failure("METHOD is required: package.Service/Method, or any unambiguous suffix");
  if (!data_file_.empty() && data_.empty())
    throw usage_failure("--data-file requires --data with {{column}} in the place of values");
  if (!data_file_.empty())
    rows_.emplace(data_file_,
                  data_order_ == "random" ? data_file::order::random : data_file::order::sequential);
  if (!data_.empty() && !raw_.empty()) throw usage_failure("give either --data or --raw");
  if (!kind_.empty() && raw_.empty())
    throw usage_failure("--kind requires --raw: otherwise the definition has the kind of the method");
  const std::size_t bodies = data_.size() + raw_.size();
  if (bodies > names_.size() || (bodies != 0 && names_.size() > 1 && bodies != names_.size()))
    throw usage_failure("pass one --data or --raw for each METHOD, in the same order");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto [name, weight] = weighted(names_[i]);
    const std::string data = i < data_.size() ? data_[i] : std::string();
    const std::string content = !raw_.empty()           ? file_content(raw_[i])
                                : data.starts_with('@') ? file_content(data.substr(1))
                                                        : data;
    description_.push_back(fingerprint(content));
    if (!raw_.empty()) all.add(from_bytes(name, content), weight);
    else all.add(from_json_text(at, name, content), weight);
  }
  if (!data_file_.empty()) description_.push_back("rows of " + data_file_ + ", " + data_order_);
  if (messages_) description_.push_back(format_count(*messages_) + " messages");
  if (messages_ && !sends_streams(all))
    throw usage_failure("--messages requires a METHOD with a client stream");
  return all;
}

std::unique_ptr<request_source> request_options::from_bytes(const std::string& name,
                                                            std::string bytes) const {
  std::string path = name.starts_with('/') ? name : "/" + name;
  if (path.find('/', 1) == path.npos)
    throw usage_failure("--raw uses no definitions: write package.Service/Method, not '" + name + "'");
  return std::make_unique<fixed_requests>(std::move(path), kinds.at(kind_.empty() ? "unary" : kind_),
                                          std::move(bytes), messages_.value_or(1));
}

std::unique_ptr<request_source> request_options::from_json_text(session& at, const std::string& name,
                                                                const std::string& text) const {
  json_splitter values;
  values.add(text);
  std::vector<std::string> texts;
  while (auto one = values.next()) texts.emplace_back(*one);
  if (auto last = values.rest()) texts.emplace_back(*last);
  schema& types = at.types();
  return std::make_unique<json_requests>(types, types.method(name), std::move(texts), messages_,
                                         rows_ ? &*rows_ : nullptr);
}

}  // namespace coracle::tools::load
