// data_file: rows of values for the requests of a run, from a CSV file or from JSON lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::load {

// CSV (RFC 4180): the first row has the names of the columns; fields may be quoted, and may then contain
// commas, quotes and line ends. JSON lines: each line is an object; the keys of the first one are the
// columns. Values are stored as they are written inside a JSON string, so that "{{name}}" in a request gets
// them escaped.
class data_file {
 public:
  enum class order : bool { sequential, random };

  // The name decides the format: .csv, or .jsonl and .ndjson. Throws failure, which names the line.
  data_file(const std::string& path, order rows);

  [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }
  // The value for a call; empty if there is no such column. In sequential order, call n gets row n, and the
  // first row follows the last one. In random order, the row depends on nothing but n.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view column, std::uint64_t call) const;

 private:
  void read_csv(const std::string& path, std::string_view text);
  void read_json_lines(const std::string& path, std::string_view text);

  order order_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coracle::tools::load
