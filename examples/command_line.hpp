// The command line of the small programs here: --name=value or --name value, and words.
#pragma once

#include "printable.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace examples {

// A command line that the program cannot follow; run() prints why.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// --help: run() prints the usage.
struct help_request {
  std::string usage;
};

class command_line {
 public:
  // usage: "ADDRESS [NAME] [--ca=FILE]", in which what stands outside brackets is required. Throws usage_error for a
  // command line that does not follow it.
  command_line(int argc, char** argv, std::string_view usage) {
    usage_ = std::string(argv[0]).substr(std::string_view(argv[0]).rfind('/') + 1);
    if (!usage.empty()) usage_.append(" ").append(usage);
    const parameters may = parameters_of(usage);
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      if (argument == "--help" || argument == "-h") throw help_request{usage_};
    }
    for (int i = 1; i < argc; ++i) {
      std::string_view argument = argv[i];
      if (!argument.starts_with("--")) {
        words_.emplace_back(argument);
        if (words_.size() > may.words.size()) fail("the word '" + words_.back() + "' is one too many");
        continue;
      }
      const auto equals = argument.find('=');
      const std::string name(argument.substr(2, equals == argument.npos ? equals : equals - 2));
      if (!may.options.contains(name)) fail("there is no option --" + name);
      if (equals != argument.npos) options_[name] = argument.substr(equals + 1);
      else if (++i < argc) options_[name] = argv[i];
      else fail("--" + name + " needs a value");
    }
    for (std::size_t i = words_.size(); i < may.words.size(); ++i)
      if (may.words[i].required) fail(may.words[i].name + " is missing");
    for (const auto& [name, required] : may.options)
      if (required && !options_.contains(name)) fail("--" + name + " is missing");
  }

  [[nodiscard]] std::optional<std::string> option(const std::string& name) const {
    const auto found = options_.find(name);
    return found == options_.end() ? std::nullopt : std::optional(found->second);
  }
  // Of one that is required.
  [[nodiscard]] const std::string& required(const std::string& name) const { return options_.at(name); }
  // Of one that is required: a TCP port; 0 lets the kernel choose.
  [[nodiscard]] std::uint16_t port(const std::string& name) const {
    const std::string& text = required(name);
    std::uint16_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw usage_error("--" + name + " is a number from 0 to 65535, not '" + text + "'");
    return value;
  }
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  struct word {
    std::string name;
    bool required;
  };
  struct parameters {
    std::vector<word> words;
    std::map<std::string, bool> options;  // true: required
  };
  static parameters parameters_of(std::string_view usage) {
    parameters all;
    int brackets = 0;
    while (!usage.empty()) {
      std::string_view one = usage.substr(0, usage.find(' '));
      usage.remove_prefix(std::min(one.size() + 1, usage.size()));
      for (; one.starts_with('['); one.remove_prefix(1)) ++brackets;
      const bool required = brackets == 0;
      for (; one.ends_with(']'); one.remove_suffix(1)) --brackets;
      if (one.starts_with("--")) all.options.emplace(one.substr(2, one.find('=') - 2), required);
      else all.words.push_back({std::string(one), required});
    }
    return all;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw usage_error(reason + "; usage: " + usage_);
  }

  std::string usage_;
  std::map<std::string, std::string> options_;
  std::vector<std::string> words_;
};

// Runs a program's real main. --help prints the usage; what is thrown becomes one line on stderr and the exit code 1, or 2
// for a wrong command line.
template <class Main>
int run(const char* program, Main real_main) noexcept {
  try {
    return real_main();
  } catch (const help_request& help) {
    std::printf("usage: %s\n", help.usage.c_str());
    return 0;
  } catch (const usage_error& error) {
    std::fprintf(stderr, "%s: %s\n", program, printable(error.what()).c_str());
    return 2;
  } catch (const std::exception& error) {  // perhaps the status of a call, whose text the server chose
    std::fprintf(stderr, "%s: %s\n", program, printable(error.what()).c_str());
    return 1;
  }
}

}  // namespace examples
