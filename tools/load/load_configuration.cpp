#include "tools/load/load_configuration.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/manual/closest_words.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace coracle::tools::load {

namespace {

using json = nlohmann::ordered_json;

// Option names use '-', keys '_'.
std::string option_named(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> all{"address", "methods", "scenarios", "headers", "name"};
  for (const CLI::Option* const o : command.get_options())
    for (std::string name : o->get_lnames()) {
      std::replace(name.begin(), name.end(), '-', '_');
      all.push_back(std::move(name));
    }
  return all;
}

void set(CLI::Option& option, const std::vector<std::string>& values) {
  for (const std::string& one : values) option.add_result(one);
  option.run_callback();
}

}  // namespace

load_configuration::load_configuration(std::string path) : path_(std::move(path)) {
  common_ = json::parse(file_content(path_), nullptr, false, true);
  if (!common_.is_object()) fail("it must be a JSON object of options");
  if (!common_.contains("scenarios")) {
    scenarios_.push_back({"", json::object()});
    return;
  }
  const json list = common_["scenarios"];
  common_.erase("scenarios");
  if (!list.is_array() || list.empty()) fail("scenarios must be an array of objects");
  for (const json& one : list) {
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string())
      fail("each of the scenarios must be an object with a name");
    json options = one;
    options.erase("name");
    scenarios_.push_back({one["name"].get<std::string>(), std::move(options)});
  }
}

void load_configuration::fail(const std::string& text) const { throw usage_failure(path_ + ": " + text); }

void load_configuration::apply(const json& options, CLI::App& to, const CLI::App& known) const {
  for (const auto& [key, value] : options.items()) {
    try {
      apply_one(key, value, to, known);
    } catch (const CLI::Error& error) {
      fail(key + ": " + error.what());
    }
  }
  for (const CLI::Option* const one : to.get_options())
    for (const CLI::Option* const other : one->get_excludes())
      if (one->count() > 0 && other->count() > 0)
        fail(one->get_name() + " and " + other->get_name() + " exclude each other");
}

void load_configuration::apply_one(const std::string& key, const json& value, CLI::App& to,
                                   const CLI::App& known) const {
  if (key == "methods") return apply_methods(value, to);
  if (key == "headers") {
    if (!value.is_object()) fail("headers must be an object of names and values");
    for (const auto& [name, text] : value.items()) {
      if (!text.is_string()) fail("headers." + name + " must be a string");
      set(*to.get_option("--header"), {name + ": " + text.get<std::string>()});
    }
    return;
  }
  const std::string name = key == "address" ? "ADDRESS" : option_named(key);
  CLI::Option* const option = to.get_option_no_throw(name);
  if (!option && known.get_option_no_throw(name)) return;
  if (!option || key == "help" || key == "config")
    fail("there is no option '" + key + "'" + suggestion(closest_words(key, keys_of(known))));
  if (option->count() > 0) return;
  std::vector<std::string> values;
  const json list = value.is_array() ? value : json::array({value});
  for (const json& one : list) {
    if (one.is_string()) values.push_back(one.get<std::string>());
    else if (one.is_number() || one.is_boolean()) values.push_back(one.dump());
    else fail(key + " must be a string, a number, true or false, or an array of these");
  }
  if (option->get_expected_max() == 0 && values == std::vector<std::string>{"false"}) return;
  set(*option, values);
}

// A method is a name, or an object with its name, weight and data.
void load_configuration::apply_methods(const json& methods, CLI::App& to) const {
  CLI::Option& names = *to.get_option("METHOD");
  CLI::Option& data = *to.get_option("--data");
  if (names.count() > 0) return;
  if (!methods.is_array() || methods.empty()) fail("methods must be an array");
  std::vector<std::string> all_names, all_data;
  bool has_data = false;
  for (const json& one : methods) {
    if (one.is_string()) {
      all_names.push_back(one.get<std::string>());
      all_data.emplace_back("{}");
      continue;
    }
    if (!one.is_object() || !one.contains("method") || !one["method"].is_string())
      fail("each of the methods must be a name, or an object with the keys method, weight and data");
    for (const auto& [key, value] : one.items())
      if (key != "method" && key != "weight" && key != "data")
        fail("methods have no key '" + key + "'" +
             suggestion(closest_words(key, {"method", "weight", "data"})));
    all_names.push_back(one["method"].get<std::string>() +
                        (one.contains("weight") ? "=" + one["weight"].dump() : std::string()));
    std::string text = "{}";
    if (one.contains("data")) {
      has_data = true;
      const json& given = one["data"];
      text = given.is_string() ? given.get<std::string>() : given.dump();
    }
    all_data.push_back(std::move(text));
  }
  set(names, all_names);
  if (has_data && data.count() == 0) set(data, all_data);
}

}  // namespace coracle::tools::load
