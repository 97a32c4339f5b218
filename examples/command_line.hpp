// The command line of the small programs here: --name=value or --name value, and words.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace examples {

// What the user has to mend; run() prints it.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class command_line {
 public:
  // Throws usage_error for an option that is not among `known` and for more than `words` words.
  command_line(int argc, char** argv, std::initializer_list<std::string_view> known, std::size_t words) {
    for (int i = 1; i < argc; ++i) {
      std::string_view argument = argv[i];
      if (!argument.starts_with("--")) {
        words_.emplace_back(argument);
        if (words_.size() > words) throw usage_error("what is '" + words_.back() + "' for? " + usage(known));
        continue;
      }
      const auto equals = argument.find('=');
      const auto name = argument.substr(2, equals == argument.npos ? equals : equals - 2);
      bool is_known = false;
      for (const std::string_view one : known) is_known |= one == name;
      if (!is_known) throw usage_error("there is no option --" + std::string(name) + "; " + usage(known));
      if (equals != argument.npos) options_[std::string(name)] = argument.substr(equals + 1);
      else if (++i < argc) options_[std::string(name)] = argv[i];
      else throw usage_error("--" + std::string(name) + " needs a value");
    }
  }

  [[nodiscard]] std::optional<std::string> option(const std::string& name) const {
    const auto found = options_.find(name);
    return found == options_.end() ? std::nullopt : std::optional(found->second);
  }
  // A TCP port; 0 lets the kernel choose.
  [[nodiscard]] std::uint16_t port(const std::string& name) const {
    const auto text = option(name);
    if (!text) throw usage_error("say where to listen or connect: --" + name + "=50051");
    std::uint16_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size())
      throw usage_error("--" + name + " is a number from 0 to 65535, not '" + *text + "'");
    return value;
  }
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  static std::string usage(std::initializer_list<std::string_view> known) {
    if (known.size() == 0) return "there are no options";
    std::string text = "the options are";
    for (const std::string_view one : known) text.append(" --").append(one);
    return text;
  }

  std::map<std::string, std::string> options_;
  std::vector<std::string> words_;
};

// Runs a program's real main; what it throws becomes one line on stderr and the exit code 1 (2: wrong usage).
template <class Main>
int run(const char* program, Main real_main) noexcept {
  try {
    return real_main();
  } catch (const usage_error& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace examples
