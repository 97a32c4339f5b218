#include "tools/load/run_pair.hpp"

#include "tools/failure.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace coracle::tools::load {

namespace {

using json = nlohmann::ordered_json;

// "/movie.MovieService/AddMovie=3, /movie.MovieService/ListMovies"
std::string methods_of(const json& run) {
  std::string text;
  for (const json& one : run.at("methods")) {
    const int weight = one.value("weight", 1);
    text += (text.empty() ? "" : ", ") + one.at("method").get<std::string>() +
            (weight == 1 ? "" : "=" + std::to_string(weight));
  }
  return text;
}

// Results of earlier versions do not have everything.
std::string text_of(const json& run, const char* key) {
  if (!run.contains(key)) return {};
  return run[key].is_string() ? run[key].get<std::string>() : run[key].dump();
}

std::string line_of(const json& run) {
  const std::string protocol = text_of(run, "protocol");
  return methods_of(run) + (protocol.empty() ? "" : " by " + protocol) + ", " + text_of(run, "scenario");
}

// Returns the reason why it is no result; empty if it is one.
std::string invalid_part(const json& result) {
  if (!result.is_object() || !result.contains("runs")) return "it has no \"runs\"";
  const json& runs = result["runs"];
  if (!runs.is_array() || runs.empty()) return "its \"runs\" are not a list of runs";
  struct part {
    const char* key;
    bool (*is_valid)(const json& value);
  };
  constexpr auto number = [](const json& value) { return value.is_number(); };
  constexpr part parts[] = {
      {"name", [](const json& value) { return value.is_string(); }},
      {"methods",
       [](const json& value) {
         return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& one) {
                  return one.is_object() && one.contains("method") && one["method"].is_string() &&
                         one.contains("latency_ms");
                });
       }},
      {"percentiles",
       [](const json& value) {
         return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& one) {
                  return one.is_object() && one.contains("latency_ms") && one["latency_ms"].is_number();
                });
       }},
      {"latency_ms",
       [](const json& value) {
         return value.is_null() ||
                (value.is_object() &&
                 std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_number(); }));
       }},
      {"rate_per_s", number},
      {"failed_share", number},
      {"calls", number},
      {"bytes_sent", number},
      {"bytes_received", number},
  };
  for (const json& run : runs)
    for (const part& one : parts)
      if (!run.is_object() || !run.contains(one.key) || !one.is_valid(run[one.key]))
        return std::string("a run has no valid \"") + one.key + "\"";
  return {};
}

}  // namespace

std::vector<std::string> run_pair::differences() const {
  std::vector<std::string> all;
  if (methods_of(*before) != methods_of(*after)) all.emplace_back("methods");
  for (const char* const key : {"scenario", "data", "protocol"})
    if (before->contains(key) && after->contains(key) && text_of(*before, key) != text_of(*after, key))
      all.emplace_back(key);
  return all;
}

std::string run_pair::description() const {
  const std::string first = line_of(*before), second = line_of(*after);
  if (first == second) return "  both    " + first + "\n";
  return "  before  " + first + "\n  after   " + second + "\n";
}

void check_result(const json& result, const std::string& path) {
  if (const std::string reason = invalid_part(result); !reason.empty())
    throw failure(path + " was not written by `coracle load --json`: " + reason);
}

std::vector<run_pair> pairs_of(const json& before, const json& after) {
  const json& a = before.at("runs");
  const json& b = after.at("runs");
  std::vector<run_pair> all;
  if (a.size() == 1 && b.size() == 1) all.push_back({a[0].at("name").get<std::string>(), &a[0], &b[0]});
  else
    for (const json& one : a)
      for (const json& other : b)
        if (one.at("name") == other.at("name"))
          all.push_back({one.at("name").get<std::string>(), &one, &other});
  if (all.empty()) throw failure("the results have no run with the same name");
  return all;
}

}  // namespace coracle::tools::load
