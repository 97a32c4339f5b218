// request_run: makes the call of a saved request, and compares what comes back with what is expected.
#pragma once

#include "tools/requests/request_file.hpp"
#include "tools/schema/session.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coracle::tools {

// What happened. A problem is "FILE:LINE: what is not as expected".
struct request_result {
  std::string outcome;  // the name of the status
  std::vector<std::string> problems;
  std::chrono::duration<double> took{};
  int code = 0;  // of the status
};

// The options of the command line that apply to the requests of a file: they take precedence over those of
// the file, and headers are added to its headers.
class request_runner {
 public:
  // `typed` is the parsed command, which must outlive this object. `address` replaces that of the files with
  // their options of its security, such as --plaintext, unless it is empty. `shows` prints replies, and a
  // failed call that has no EXPECT.
  request_runner(const CLI::App& typed, std::string address, bool shows)
      : typed_(typed), address_(std::move(address)), shows_(shows) {}

  // Throws failure for options of the command line that fit no request.
  void check() const;
  // Throws failure, with the place in the file, if the call cannot be made, and call_failure if the server
  // cannot be asked for its definitions.
  [[nodiscard]] request_result run(const saved_request& one, const std::string& path) const;

 private:
  [[nodiscard]] std::vector<std::string> words_of(const saved_request& one, const std::string& path,
                                                  const CLI::App& line) const;
  void add_typed(std::vector<std::string>& words, const CLI::App& line) const;
  [[nodiscard]] bool overrides(const CLI::Option& option) const;

  const CLI::App& typed_;
  const std::string address_;
  const bool shows_;
};

// Whether the option, by its name without dashes, takes a path, which counts from the folder of the file.
[[nodiscard]] bool has_path(std::string_view option);
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

// The requests of a file whose title contains `part`. Throws failure if there are none.
[[nodiscard]] std::vector<saved_request> requests_in(const std::string& path, const std::string& part = {});

}  // namespace coracle::tools
