// breaking_changes: compares two versions of definitions, and finds what the newer one breaks.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

// What a change breaks. Each kind includes those before it: who needs compatible source code also needs
// compatible JSON, and a compatible wire format.
enum class breakage {
  wire,  // programs that were built from the two versions misunderstand each other's messages, or calls fail
  json,  // as wire, but for messages and requests in JSON
  source,  // code that uses the generated classes no longer compiles, or behaves differently
};

[[nodiscard]] const char* name_of(breakage b) noexcept;

struct breaking_change {
  breakage breaks;
  std::string rule;  // such as "field-removed"
  std::string element;  // the full name of what changed
  std::string location;  // file:line in the newer version, or in the older one if the element is gone
  std::string text;
};

using definition_set = std::vector<const google::protobuf::FileDescriptor*>;

// Sorted by breakage and location. Elements are found again by their full names, fields and enum values by
// their numbers. protobuf's own files are not compared. `same_file` are the older and the newer name of a
// file that counts as one file, so that its elements have not moved.
[[nodiscard]] std::vector<breaking_change> breaking_changes(
    const definition_set& older, const definition_set& newer,
    std::pair<std::string, std::string> same_file = {});

}  // namespace coracle::tools
