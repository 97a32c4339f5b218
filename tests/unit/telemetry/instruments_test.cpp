// The instruments, compared with those of gRPC's proposals (grpc_instruments.txt) and with
// docs/reference/metrics.md.
#include "support/all_instruments.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coracle::telemetry_internal::instruments_test {
namespace {

using testing_support::all_instruments;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(CORACLE_TESTS_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

std::string joined(const label_keys& keys) {
  std::string all;
  for (const std::string_view k : keys) all.append(all.empty() ? "" : " ").append(k);
  return all.empty() ? "-" : all;
}

// Numbers that are separated by spaces, with or without commas.
std::vector<double> numbers_of(std::string text) {
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  std::vector<double> all;
  for (double one = 0; in >> one;) all.push_back(one);
  return all;
}

std::string name_of(instrument_kind k) {
  switch (k) {
    case instrument_kind::counter: return "counter";
    case instrument_kind::up_down_counter: return "up-down counter";
    case instrument_kind::gauge: return "gauge";
    case instrument_kind::histogram: return "histogram";
  }
  return {};
}

TEST(Instruments, OfGrpcAreThoseOfTheProposals) {
  std::map<std::string, std::vector<double>> named;
  std::map<std::string, std::vector<std::string>> wanted;
  for (const std::string& line : lines_of("unit/telemetry/grpc_instruments.txt")) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() == 2) named[fields[0]] = numbers_of(fields[1]);
    else wanted[fields.at(0)] = fields;
  }
  ASSERT_EQ(named.at("latency").size(), 41U);
  ASSERT_EQ(named.at("size").size(), 14U);
  std::set<std::string> found;
  for (const instrument* i : all_instruments()) {
    const std::string name(i->name);
    if (!name.starts_with("grpc.")) continue;
    ASSERT_TRUE(wanted.contains(name)) << name << " is in no proposal";
    EXPECT_TRUE(found.insert(name).second) << name << " exists twice";
    const std::vector<std::string>& w = wanted.at(name);
    ASSERT_EQ(w.size(), 7U) << name;
    std::string kind = name_of(i->kind);
    std::ranges::replace(kind, ' ', '_');
    std::ranges::replace(kind, '-', '_');
    EXPECT_EQ(kind, w[1]) << name;
    EXPECT_EQ(i->unit, w[2]) << name;
    EXPECT_EQ(i->on_by_default, w[3] == "on") << name;
    EXPECT_EQ(joined(i->labels), w[4]) << name;
    EXPECT_EQ(joined(i->optional_labels), w[5]) << name;
    const std::vector<double> bounds = w[6] == "-"            ? std::vector<double>()
                                       : named.contains(w[6]) ? named.at(w[6])
                                                              : numbers_of(w[6]);
    EXPECT_TRUE(std::ranges::equal(i->bounds, bounds)) << name;
  }
  for (const auto& [name, fields] : wanted) EXPECT_TRUE(found.contains(name)) << name << " does not exist";
}

TEST(Instruments, HaveNamesUnitsAndDescriptionsThatOperatorsRead) {
  std::set<std::string_view> names;
  for (const instrument* i : all_instruments()) {
    EXPECT_TRUE(names.insert(i->name).second) << i->name << " exists twice";
    EXPECT_TRUE(i->name.starts_with("grpc.") || i->name.starts_with("coracle.")) << i->name;
    EXPECT_FALSE(i->unit.empty()) << i->name;
    EXPECT_TRUE(i->description.ends_with('.')) << i->name;
    EXPECT_EQ(i->kind == instrument_kind::histogram, !i->bounds.empty()) << i->name;
    EXPECT_TRUE(std::ranges::is_sorted(i->bounds)) << i->name;
  }
}

TEST(Instruments, OfAllFilesAreListed) {
  std::set<std::string, std::less<>> known;
  for (const instrument* i : all_instruments()) {
    known.emplace(i->name);
    for (const label_keys& keys : {i->labels, i->optional_labels}) known.insert(keys.begin(), keys.end());
  }
  const std::regex name("\"((grpc|coracle)\\.[a-z0-9_.]+)\"");
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(CORACLE_TESTS_DIR) + "/../src")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("constexpr instrument ") == text.npos) continue;
    ++files;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), name); at != std::sregex_iterator(); ++at)
      EXPECT_TRUE(known.contains((*at)[1].str()))
          << entry.path().filename() << " has " << (*at)[1]
          << ", which tests/support/all_instruments.hpp does not list";
  }
  EXPECT_GT(files, 5U);
}

// The page, as far as it says what exists.
struct page {
  std::map<std::string, std::string> rows;  // by name: from the name to the column "on", and the rest
  std::map<std::string, std::vector<double>> buckets;

  page() {
    std::string section;
    for (const std::string& line : lines_of("../docs/reference/metrics.md")) {
      if (line.starts_with("## ")) section = line.substr(3);
      const std::vector<std::string> cells = split(line, '|');
      if (section == "Buckets" && cells.size() == 3 && !numbers_of(cells[2]).empty())
        buckets[cells[1].substr(1, cells[1].size() - 2)] = numbers_of(cells[2]);
      if (cells.size() == 7 && cells[1].starts_with(" `"))
        rows[cells[1].substr(2, cells[1].size() - 4)] = line;
    }
  }
  [[nodiscard]] std::string bucket_name(std::span<const double> bounds) const {
    for (const auto& [name, known] : buckets)
      if (std::ranges::equal(known, bounds)) return name;
    return "(buckets that the page does not list)";
  }
  // How the row of an instrument begins.
  [[nodiscard]] std::string row_of(const instrument& i) const {
    std::string row = "| `" + std::string(i.name) + "` | " + name_of(i.kind);
    if (i.kind == instrument_kind::histogram) row += ", " + bucket_name(i.bounds);
    row += " | `" + std::string(i.unit) + "` | ";
    std::string labels;
    for (const std::string_view k : i.labels)
      labels.append(labels.empty() ? "`" : ", `").append(k).append("`");
    for (const std::string_view k : i.optional_labels)
      labels.append(labels.empty() ? "(`" : ", (`").append(k).append("`)");
    return row + labels + (labels.empty() ? "| " : " | ") + (i.on_by_default ? "yes | " : "no | ");
  }
};

TEST(Instruments, AreThoseOfThePage) {
  const page p;
  std::set<std::string> names;
  for (const instrument* i : all_instruments()) {
    names.insert(std::string(i->name));
    const auto row = p.rows.find(std::string(i->name));
    const std::string begin = p.row_of(*i);
    if (row == p.rows.end()) {
      ADD_FAILURE() << "docs/reference/metrics.md has no row for it:\n" << begin << "WHAT A RISE MEANS |";
      continue;
    }
    EXPECT_TRUE(row->second.starts_with(begin)) << row->second << "\nshould begin with\n" << begin;
    EXPECT_GT(row->second.size(), begin.size() + 10) << row->second << "\ndoes not say what a rise means";
  }
  for (const auto& [name, row] : p.rows)
    EXPECT_TRUE(names.contains(name)) << "docs/reference/metrics.md has " << name << ", which does not exist";
}

}  // namespace
}  // namespace coracle::telemetry_internal::instruments_test
