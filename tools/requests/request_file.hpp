// request_file: requests with the outcomes that are expected of them, in a text file. docs/cli/test.md
// describes the format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// A text of a file, and the line on which it begins, from 1.
struct file_text {
  std::string text;
  std::size_t line = 0;
};

struct expected_outcome {
  std::size_t line = 0;
  std::string status = "OK";  // the name of a status code
  std::string message;  // a part of the message of the status
  std::vector<file_text> replies;  // JSON; empty: replies are not compared
  bool more_replies = false;  // further ones may follow
};

struct saved_request {
  std::string name;  // empty: it has none
  std::size_t line = 0;
  std::string address;  // empty: that of the command line
  std::string method;
  std::vector<file_text> options;  // "--timeout 5s"
  std::vector<file_text> metadata;  // "name: value"
  std::vector<file_text> messages;  // JSON
  std::optional<expected_outcome> expected;

  [[nodiscard]] const std::string& title() const noexcept { return name.empty() ? method : name; }
};

// `path` is named in errors: throws failure with "path:line: reason".
[[nodiscard]] std::vector<saved_request> parse_requests(std::string_view text, const std::string& path);
// Reads the file. Throws failure if it is no regular file, or is larger than 16 MiB.
[[nodiscard]] std::string requests_text(const std::string& path);
// Returns the request as text that parse_requests() reads. The lines do not count.
[[nodiscard]] std::string text_of(const saved_request& one);

// "path:line: "
[[nodiscard]] std::string location(const std::string& path, std::size_t line);

}  // namespace coracle::tools
