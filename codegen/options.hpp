// What stands in --coracle_opt.
#pragma once

#include <optional>
#include <string>

namespace coracle::codegen {

struct options {
  // Below the namespace of the package, so that the classes of grpc_cpp_plugin and of cc_generic_services,
  // which have the same names, do not clash with ours.
  std::string inner_namespace = "rpc";
};

inline constexpr const char* options_help =
    "options: namespace=NAME (the namespace of the classes inside that of the package; rpc if not given)";

// Nothing if `text` is wrong; then `error` says in one line what would be right.
std::optional<options> parse_options(const std::string& text, std::string& error);

}  // namespace coracle::codegen
