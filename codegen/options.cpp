#include "codegen/options.hpp"

#include "codegen/names.hpp"

#include <google/protobuf/compiler/code_generator.h>

#include <utility>
#include <vector>

namespace coracle::codegen {

namespace {

// Parses one option; returns the error, or an empty string.
std::string take(const std::string& name, const std::string& value, options& to) {
  if (name == "namespace") {
    if (!is_namespace_name(value)) return concat({"\"", value, "\" is not a valid C++ namespace"});
    to.inner_namespace = value;
  } else if (name == "wire_package") {
    if (!is_package_name(value)) return concat({"\"", value, "\" is not a valid package name"});
    to.wire_package = value;
  } else if (name == "module") {
    if (!is_module_name(value)) return concat({"\"", value, "\" is not a valid name of a C++ module"});
    to.module = value;
  } else {
    if (value != "true" && value != "false") return concat({"\"", value, "\" is neither true nor false"});
    to.fakes = value == "true";
  }
  return {};
}

}  // namespace

std::optional<options> parse_options(const std::string& text, std::string& error) {
  std::vector<std::pair<std::string, std::string>> pairs;
  google::protobuf::compiler::ParseGeneratorParameter(text, &pairs);
  options parsed;
  for (const auto& [name, value] : pairs) {
    if (name != "namespace" && name != "wire_package" && name != "fakes" && name != "module") {
      error = concat({"unknown option \"", name, "\"; ", options_help});
      return std::nullopt;
    }
    if (const std::string problem = take(name, value, parsed); !problem.empty()) {
      error = concat({name, "=", value, ": ", problem, "; ", options_help});
      return std::nullopt;
    }
  }
  return parsed;
}

}  // namespace coracle::codegen
