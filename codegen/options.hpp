// What stands in --coracle_opt.
#pragma once

#include <optional>
#include <string>

namespace coracle::codegen {

struct options {
  // Below the namespace of the package, so that the classes of grpc_cpp_plugin and of cc_generic_services,
  // which have the same names, do not clash with ours.
  std::string inner_namespace = "rpc";
  // What stands for the package in paths, when the .proto was given another one to keep its C++ classes apart from
  // those that somebody else makes of the same definitions.
  std::optional<std::string> wire_package;
  // A second header, with fake services for tests.
  bool fakes = false;
};

inline constexpr const char* options_help =
    "options: namespace=NAME (the namespace of the classes inside that of the package; rpc if not given), "
    "wire_package=NAME (the package in the paths of calls; that of the .proto if not given), "
    "fakes=true (writes FILE.coracle.fake.hpp, too: services for tests that answer as they are told)";

// Nothing if `text` is wrong; then `error` says in one line what would be right.
std::optional<options> parse_options(const std::string& text, std::string& error);

}  // namespace coracle::codegen
