#include "tools/requests/request_file.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/format/json_splitter.hpp"
#include "tools/manual/closest_words.hpp"

#include <coracle/base/status.hpp>

#include <algorithm>
#include <cctype>

namespace coracle::tools {

namespace {

constexpr std::string_view separator = "###", call_word = "CALL", expect_word = "EXPECT", more_mark = "...";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\r") + 1;
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

// Whether the line is the word, or begins with it and a space.
bool begins_with_word(std::string_view line, std::string_view word) {
  return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ');
}

// Lines of JSON, which may be several values.
class json_block {
 public:
  void add(std::string_view line, std::size_t number) {
    if (first_ == 0) first_ = number;
    text_.append(line).append("\n");
  }

  [[nodiscard]] std::vector<file_text> values() const {
    json_splitter splitter;
    splitter.add(text_);
    std::vector<file_text> all;
    std::size_t at = 0, line = first_;
    const auto lines_in = [](std::string_view text) {
      return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    const auto add_value = [&](std::string_view value) {
      const std::size_t begin = text_.find(value, at);
      line += lines_in(std::string_view(text_).substr(at, begin - at));
      all.push_back({std::string(value), line});
      line += lines_in(value);
      at = begin + value.size();
    };
    while (const auto value = splitter.next()) add_value(*value);
    if (const auto value = splitter.rest()) add_value(*value);
    return all;
  }

 private:
  std::string text_;
  std::size_t first_ = 0;
};

class request_parser {
 public:
  explicit request_parser(const std::string& path) : path_(path) {}

  std::vector<saved_request> parse(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";  // editors of Windows begin files with it
    if (text.starts_with(mark)) text.remove_prefix(mark.size());
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++number_;
      line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish();
    if (all_.empty()) fail("the file has no request: a line 'CALL ADDRESS METHOD' begins one");
    return std::move(all_);
  }

 private:
  // The parts of a request, in their order.
  enum class part { none, head, messages, replies };

  [[noreturn]] void fail(const std::string& reason) const {
    throw failure(location(path_, std::max<std::size_t>(number_, 1)) + reason);
  }

  void line(std::string_view raw) {
    const std::string_view text = trimmed(raw);
    if (raw.starts_with(separator)) {
      finish();
      name_ = trimmed(raw.substr(std::min(raw.find_first_not_of('#'), raw.size())));
    } else if (raw.starts_with('#')) {
      if (at_ >= part::messages) add_json("");  // the lines keep their numbers
    } else if (begins_with_word(raw, call_word)) {
      if (at_ != part::none) finish();
      begin(trimmed(raw.substr(call_word.size())));
    } else if (begins_with_word(raw, expect_word)) {
      expect(trimmed(raw.substr(expect_word.size())));
    } else if (at_ == part::none) {
      if (!text.empty()) fail("expected a line 'CALL ADDRESS METHOD', not '" + std::string(text) + "'");
    } else if (at_ == part::head && !text.empty() && text.front() != '{' && text.front() != '[') {
      add_field(text);
    } else {
      if (at_ == part::head) at_ = part::messages;
      add_json(raw);
    }
  }

  void begin(std::string_view words) {
    one_ = {};
    one_.name = std::move(name_);
    name_.clear();
    one_.line = number_;
    const std::size_t space = words.find_first_of(" \t");
    if (space != words.npos) {
      one_.address = words.substr(0, space);
      words = trimmed(words.substr(space));
    }
    if (words.empty() || words.find_first_of(" \t") != words.npos)
      fail("CALL takes an address and a method: CALL localhost:50051 package.Service/Method");
    one_.method = words;
    messages_ = replies_ = {};
    at_ = part::head;
  }

  void add_field(std::string_view text) {
    if (text.starts_with('-')) {
      one_.options.push_back({std::string(text), number_});
      return;
    }
    const std::size_t colon = text.find(':');
    const bool is_name =
        colon != text.npos && colon > 0 &&
        std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
        });
    if (!is_name)
      fail("expected '--option value', 'name: value', or an empty line before the messages, not '" +
           std::string(text) + "'");
    one_.metadata.push_back({std::string(text), number_});
  }

  void expect(std::string_view text) {
    if (at_ == part::none) fail("EXPECT stands below the CALL whose outcome it describes");
    if (one_.expected) fail("this request has an EXPECT in line " + std::to_string(one_.expected->line));
    expected_outcome& outcome = one_.expected.emplace();
    outcome.line = number_;
    at_ = part::replies;
    if (text.empty()) return;
    const std::size_t space = std::min(text.find(' '), text.size());
    outcome.status = text.substr(0, space);
    outcome.message = trimmed(text.substr(space));
    check_status(outcome.status);
    if (outcome.message.starts_with('{') || outcome.message.starts_with('['))
      fail("the JSON of a reply stands below EXPECT, on lines of its own; here stands a part of the message");
  }

  void check_status(const std::string& name) const {
    constexpr int codes = 17;
    std::vector<std::string> known;
    for (int code = 0; code < codes; ++code) known.emplace_back(name_of(static_cast<status_code>(code)));
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    fail("there is no status " + name + suggestion(closest_words(upper, known)) +
         " EXPECT takes a status such as OK or NOT_FOUND");
  }

  void add_json(std::string_view raw) {
    if (at_ == part::messages) return messages_.add(raw, number_);
    const std::string_view text = trimmed(raw);
    if (one_.expected->more_replies && !text.empty()) fail("'...' stands behind the last expected reply");
    if (text == more_mark) one_.expected->more_replies = true;
    else replies_.add(raw, number_);
  }

  void finish() {
    if (at_ == part::none) return;
    one_.messages = messages_.values();
    if (one_.expected) one_.expected->replies = replies_.values();
    all_.push_back(std::move(one_));
    at_ = part::none;
  }

  const std::string& path_;
  std::size_t number_ = 0;
  part at_ = part::none;
  std::string name_;
  saved_request one_;
  json_block messages_, replies_;
  std::vector<saved_request> all_;
};

void add_values(std::string& to, const std::vector<file_text>& values) {
  for (const file_text& one : values) to.append(trimmed(one.text)).append("\n");
}

}  // namespace

std::string location(const std::string& path, std::size_t line) {
  return path + ":" + std::to_string(line) + ": ";
}

std::vector<saved_request> parse_requests(std::string_view text, const std::string& path) {
  return request_parser(path).parse(text);
}

std::string requests_text(const std::string& path) {
  constexpr std::size_t bytes_max = 16u << 20;  // enough for large messages
  return regular_file_content(path, bytes_max);
}

std::string text_of(const saved_request& one) {
  std::string text = one.name.empty() ? std::string() : "### " + one.name + "\n";
  text += "CALL " + (one.address.empty() ? std::string() : one.address + " ") + one.method + "\n";
  add_values(text, one.options);
  add_values(text, one.metadata);
  text += "\n";
  add_values(text, one.messages);
  if (!one.expected) return text;
  const expected_outcome& outcome = *one.expected;
  text += "\nEXPECT " + outcome.status + (outcome.message.empty() ? "" : " " + outcome.message) + "\n";
  add_values(text, outcome.replies);
  if (outcome.more_replies) text.append(more_mark).append("\n");
  return text;
}

}  // namespace coracle::tools
