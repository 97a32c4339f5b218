// findings: what coracle doctor has found, as lines for people and as JSON for support.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::doctor {

// How bad it is.
enum class verdict {
  ok,       // as it should be
  note,     // works, but somebody may wonder why, or it limits what the machine or the server can do
  problem,  // something does not work, or will soon not
};

struct finding {
  verdict how;
  std::string section;  // "machine" or "server"
  std::string topic;    // a few words, the same in each run: "open files"
  std::string found;
  std::string advice;  // what to do; empty if there is nothing to do
};

// The findings in the order of the checks. Each is printed as soon as it is made, unless JSON is asked for.
class findings {
 public:
  explicit findings(bool as_json) noexcept : as_json_(as_json) {}

  // The section of the findings that follow.
  void begin(std::string section) { section_ = std::move(section); }
  void ok(std::string topic, std::string found) {
    add({verdict::ok, section_, std::move(topic), std::move(found), {}});
  }
  void note(std::string topic, std::string found, std::string advice = {}) {
    add({verdict::note, section_, std::move(topic), std::move(found), std::move(advice)});
  }
  void problem(std::string topic, std::string found, std::string advice) {
    add({verdict::problem, section_, std::move(topic), std::move(found), std::move(advice)});
  }
  // A problem if `bad`, or else as it should be.
  void check(bool bad, std::string topic, std::string found, std::string advice) {
    if (bad) problem(std::move(topic), std::move(found), std::move(advice));
    else ok(std::move(topic), std::move(found));
  }
  // A note if `odd`, or else as it should be.
  void mention(bool odd, std::string topic, std::string found, std::string advice) {
    if (odd) note(std::move(topic), std::move(found), std::move(advice));
    else ok(std::move(topic), std::move(found));
  }

  [[nodiscard]] bool has_problems() const noexcept { return count(verdict::problem) > 0; }
  // Prints the sum, or the JSON.
  void finish() const;

 private:
  void add(finding one);
  [[nodiscard]] std::size_t count(verdict of) const noexcept;
  [[nodiscard]] std::string json() const;

  bool as_json_;
  std::string section_;
  std::vector<finding> all_;
};

}  // namespace coracle::tools::doctor
