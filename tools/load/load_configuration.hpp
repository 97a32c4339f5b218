// load_configuration: the options of `coracle load` from a file.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools::load {

// A JSON object whose keys are names of options with '_' for '-': {"address": "localhost:50051", "plaintext":
// true, "methods": ["AddMovie"], "rate": 500, "expect": ["p99<20ms"]}. "scenarios" is an array of such
// objects with a "name" each, which run one after the other and inherit the other keys.
class load_configuration {
 public:
  // Throws usage_failure, which names the file and the key.
  explicit load_configuration(std::string path);

  // Without scenarios, there is one without a name.
  struct scenario_entry {
    std::string name;
    nlohmann::ordered_json options;
  };
  [[nodiscard]] const std::vector<scenario_entry>& scenarios() const noexcept { return scenarios_; }
  // The keys outside of the scenarios.
  [[nodiscard]] const nlohmann::ordered_json& common() const noexcept { return common_; }

  // Sets the options of `to` that it has and that are not set. Keys of options that only `known` has are
  // skipped. Throws usage_failure for an unknown key, a value of a wrong type, and options that exclude each
  // other.
  void apply(const nlohmann::ordered_json& options, CLI::App& to, const CLI::App& known) const;

 private:
  [[noreturn]] void fail(const std::string& text) const;
  void apply_methods(const nlohmann::ordered_json& methods, CLI::App& to) const;
  void apply_one(const std::string& key, const nlohmann::ordered_json& value, CLI::App& to,
                 const CLI::App& known) const;

  std::string path_;
  nlohmann::ordered_json common_;
  std::vector<scenario_entry> scenarios_;
};

}  // namespace coracle::tools::load
