#include "tools/load/data_file.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/load/mixed.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace coracle::tools::load {

namespace {

using json = nlohmann::ordered_json;

// The text as it stands between the quotes of a JSON string.
std::string json_escaped(const std::string& text) {
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

[[noreturn]] void fail(const std::string& path, std::size_t line, const std::string& reason) {
  throw failure(path + ":" + std::to_string(line) + ": " + reason);
}

// Reads one CSV row after the other.
class csv_reader {
 public:
  csv_reader(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  // Returns false at the end.
  bool next(std::vector<std::string>& row) {
    row.clear();
    if (rest_.empty()) return false;
    first_line_ = line_;
    for (;;) {
      row.push_back(field());
      if (rest_.empty()) return true;
      const char c = rest_.front();
      if (c == ',') {
        rest_.remove_prefix(1);
        continue;
      }
      rest_.remove_prefix(c == '\r' && rest_.size() > 1 && rest_[1] == '\n' ? 2 : 1);
      ++line_;
      return true;
    }
  }
  // The line on which the last row began.
  [[nodiscard]] std::size_t line() const noexcept { return first_line_; }

 private:
  std::string field() {
    if (rest_.empty() || rest_.front() != '"') {
      const std::size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
      std::string text(rest_.substr(0, end));
      if (text.find('"') != text.npos)
        fail(path_, line_, "a field with a quote must be in quotes, and double it");
      rest_.remove_prefix(end);
      return text;
    }
    rest_.remove_prefix(1);
    std::string text;
    for (;;) {
      const std::size_t quote = rest_.find('"');
      if (quote == rest_.npos) fail(path_, first_line_, "a quoted field has no closing quote");
      text.append(rest_.substr(0, quote));
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      text += '"';
      rest_.remove_prefix(1);
    }
    line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (!rest_.empty() && rest_.find_first_of(",\r\n") != 0)
      fail(path_, line_, "a closing quote must be followed by a comma or a line end");
    return text;
  }

  const std::string& path_;
  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t first_line_ = 1;
};

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == text.npos;
}

}  // namespace

data_file::data_file(const std::string& path, order rows) : order_(rows) {
  const std::string text = file_content(path);
  if (path.ends_with(".csv")) read_csv(path, text);
  else if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) read_json_lines(path, text);
  else throw usage_failure("--data-file " + path + ": the name must end with .csv, .jsonl or .ndjson");
  if (rows_.empty()) throw failure(path + " has no rows");
  for (const std::string& name : columns_)
    if (!is_name(name) || name == "call" || name == "user" || name == "message" || name == "random")
      fail(path, 1,
           "the column name '" + name +
               "' must consist of letters, digits and '_', and differ from call, user, message and random");
}

void data_file::read_csv(const std::string& path, std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  csv_reader reader(path, text);
  if (!reader.next(columns_)) throw failure(path + " has no header row");
  for (std::vector<std::string> row; reader.next(row);) {
    if (row.size() == 1 && row.front().empty()) continue;  // an empty line
    if (row.size() != columns_.size())
      fail(path, reader.line(),
           "the row has " + std::to_string(row.size()) + " fields, and the header " +
               std::to_string(columns_.size()));
    for (std::string& field : row) field = json_escaped(field);
    rows_.push_back(std::move(row));
  }
}

void data_file::read_json_lines(const std::string& path, std::string_view text) {
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    const json object = json::parse(one, nullptr, false);
    if (!object.is_object()) fail(path, line, "the line is not a JSON object");
    if (rows_.empty())
      for (const auto& [key, value] : object.items()) columns_.push_back(key);
    std::vector<std::string> row;
    for (const std::string& column : columns_) {
      if (!object.contains(column)) fail(path, line, "the object has no key '" + column + "'");
      const json& value = object[column];
      row.push_back(value.is_string() ? json_escaped(value.get<std::string>()) : value.dump());
    }
    if (object.size() != columns_.size()) fail(path, line, "the object has keys that the first one lacks");
    rows_.push_back(std::move(row));
  }
}

std::optional<std::string_view> data_file::value(std::string_view column, std::uint64_t call) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  const std::uint64_t place = order_ == order::random ? mixed(call) : call;
  return rows_[place % rows_.size()][static_cast<std::size_t>(found - columns_.begin())];
}

}  // namespace coracle::tools::load
