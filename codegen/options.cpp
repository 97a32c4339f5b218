#include "codegen/options.hpp"

#include "codegen/names.hpp"

#include <google/protobuf/compiler/code_generator.h>

#include <utility>
#include <vector>

namespace coracle::codegen {

std::optional<options> parse_options(const std::string& text, std::string& error) {
  std::vector<std::pair<std::string, std::string>> pairs;
  google::protobuf::compiler::ParseGeneratorParameter(text, &pairs);
  options parsed;
  for (const auto& [name, value] : pairs) {
    if (name != "namespace") {
      error = concat({"there is no option \"", name, "\"; ", options_help});
      return std::nullopt;
    }
    if (!is_namespace_name(value)) {
      error = concat({"namespace=", value, ": \"", value, "\" is no C++ namespace; ", options_help});
      return std::nullopt;
    }
    parsed.inner_namespace = value;
  }
  return parsed;
}

}  // namespace coracle::codegen
