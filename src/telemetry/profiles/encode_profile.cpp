#include "telemetry/profiles/encode_profile.hpp"

#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "coracle/base/bytes.hpp"
#include "runtime/function_names.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

namespace {

using runtime_internal::code_mapping;

// The numbers of the fields of profile.proto.
namespace profile_field {
constexpr std::uint32_t sample_type = 1, sample = 2, mapping = 3, location = 4, function = 5,
                        string_table = 6, time_ns = 9, duration_ns = 10, period_type = 11, period = 12,
                        comment = 13, default_sample_type = 14;
}
namespace value_type_field {
constexpr std::uint32_t type = 1, unit = 2;
}
namespace sample_field {
constexpr std::uint32_t location_ids = 1, values = 2, label = 3;
}
namespace label_field {
constexpr std::uint32_t key = 1, text = 2;
}
namespace mapping_field {
constexpr std::uint32_t id = 1, begin = 2, end = 3, file_offset = 4, path = 5, build_id = 6;
}
namespace location_field {
constexpr std::uint32_t id = 1, mapping_id = 2, address = 3, line = 4;
}
namespace line_field {
constexpr std::uint32_t function_id = 1;
}
namespace function_field {
constexpr std::uint32_t id = 1, name = 2, symbol = 3;
}

std::uint64_t nanoseconds_of(duration d) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(), 0));
}

// The tables of a profile while its samples are added. Ids begin with 1.
class profile_tables {
 public:
  profile_tables(std::span<const code_mapping> mappings, const symbol_finder& symbol_of)
      : mappings_(mappings), symbol_of_(symbol_of) {
    (void)text("");  // index 0 is the empty text
  }

  std::uint64_t text(std::string_view of) {
    const auto [at, added] = texts_.try_emplace(std::string(of), texts_.size());
    if (added) put_text(strings_, profile_field::string_table, to_utf8(of), true);
    return at->second;
  }
  std::uint64_t location(std::uintptr_t address) {
    const auto [at, added] = location_ids_.try_emplace(address, location_ids_.size() + 1);
    const std::uint64_t id = at->second;
    if (!added) return id;
    std::string made;
    put_number(made, location_field::id, id);
    put_number(made, location_field::mapping_id, mapping_of(address));
    put_number(made, location_field::address, address);
    std::string symbol = symbol_of_(address);
    if (symbol.empty()) symbol = place_of(address);
    std::string line;
    put_number(line, line_field::function_id, function(symbol));
    put_text(made, location_field::line, line);
    put_text(locations_, profile_field::location, made);
    return id;
  }
  // A ValueType.
  std::string value_type(const profile_value_type& of) {
    std::string made;
    put_number(made, value_type_field::type, text(of.name));
    put_number(made, value_type_field::unit, text(of.unit));
    return made;
  }
  // All mappings: the first one is that of the program.
  void put_mappings(std::string& to) {
    std::uint64_t id = 0;
    for (const code_mapping& m : mappings_) {
      std::string made;
      put_number(made, mapping_field::id, ++id);
      put_number(made, mapping_field::begin, m.begin);
      put_number(made, mapping_field::end, m.end);
      put_number(made, mapping_field::file_offset, m.file_offset);
      put_number(made, mapping_field::path, text(m.path));
      put_number(made, mapping_field::build_id, text(m.build_id));
      put_text(to, profile_field::mapping, made);
    }
  }
  void put_tables(std::string& to) const { to.append(locations_).append(functions_).append(strings_); }

 private:
  static std::string to_utf8(std::string_view of) {
    std::string field;
    put_string(field, 1, of);
    rpc::proto_reader reader(field);
    return reader.next() ? std::string(reader.text()) : std::string();
  }
  // 0 for none.
  [[nodiscard]] std::uint64_t mapping_of(std::uintptr_t address) const {
    const auto found = std::ranges::find_if(
        mappings_, [&](const code_mapping& m) { return m.begin <= address && address < m.end; });
    return found == mappings_.end() ? 0 : static_cast<std::uint64_t>(found - mappings_.begin()) + 1;
  }
  // What pprof shows if it finds no name either: "libfoo.so+0x1f4". Without any it would ask the server.
  [[nodiscard]] std::string place_of(std::uintptr_t address) const {
    std::string_view file = "unknown";
    if (const std::uint64_t id = mapping_of(address); id != 0) {
      const code_mapping& m = mappings_[id - 1];
      file = std::string_view(m.path).substr(m.path.find_last_of('/') + 1);
      address = address - m.begin + m.file_offset;
    }
    char digits[2 * sizeof address];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), address, 16).ptr;
    return std::string(file) + "+0x" + std::string(std::begin(digits), end);
  }
  std::uint64_t function(const std::string& symbol) {
    const auto [at, added] = function_ids_.try_emplace(symbol, function_ids_.size() + 1);
    if (added) {
      std::string made;
      put_number(made, function_field::id, at->second);
      put_number(made, function_field::name, text(runtime_internal::demangled(symbol)));
      put_number(made, function_field::symbol, text(symbol));
      put_text(functions_, profile_field::function, made);
    }
    return at->second;
  }

  const std::span<const code_mapping> mappings_;
  const symbol_finder& symbol_of_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::unordered_map<std::uintptr_t, std::uint64_t> location_ids_;
  std::unordered_map<std::string, std::uint64_t> function_ids_;
  std::string strings_;
  std::string locations_;
  std::string functions_;
};

std::string encode_sample(profile_tables& tables, const profile_sample& sample) {
  std::vector<std::uint64_t> ids;
  ids.reserve(sample.addresses.size());
  for (const std::uintptr_t address : sample.addresses) ids.push_back(tables.location(address));
  std::string made;
  put_varints(made, sample_field::location_ids, ids);
  put_varints(made, sample_field::values, sample.values);
  if (sample.thread.empty()) return made;
  std::string label;
  put_number(label, label_field::key, tables.text("thread"));
  put_number(label, label_field::text, tables.text(sample.thread));
  put_text(made, sample_field::label, label);
  return made;
}

}  // namespace

std::string encode_profile(const profile_content& of,
                           std::span<const runtime_internal::code_mapping> mappings,
                           const symbol_finder& symbol_of) {
  profile_tables tables(mappings, symbol_of);
  std::string profile;
  for (const profile_value_type& type : of.types)
    put_text(profile, profile_field::sample_type, tables.value_type(type));
  for (const profile_sample& one : of.samples)
    put_text(profile, profile_field::sample, encode_sample(tables, one));
  tables.put_mappings(profile);
  put_number(profile, profile_field::time_ns, nanoseconds_of(of.times.begun.time_since_epoch()));
  put_number(profile, profile_field::duration_ns, nanoseconds_of(of.times.took));
  put_text(profile, profile_field::period_type, tables.value_type(of.period_type));
  put_number(profile, profile_field::period, of.period);
  put_number(profile, profile_field::comment, tables.text(of.comment));
  put_number(profile, profile_field::default_sample_type, tables.text(of.default_type));
  tables.put_tables(profile);
  return profile;
}

std::string compressed_profile(const profile_content& of) {
  const std::vector<code_mapping> mappings = runtime_internal::code_mappings();
  runtime_internal::function_names names(mappings);
  const std::string profile =
      encode_profile(of, mappings, [&](std::uintptr_t address) { return names.at(address); });
  base::output_buffer compressed;
  if (!compress::make_coder(encoding::gzip)
           ->compress(as_bytes(profile), compression::level_default, compressed))
    throw std::bad_alloc();
  return std::string(as_text(compressed.pending()));
}

}  // namespace coracle::telemetry_internal
