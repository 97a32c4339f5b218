// options: parses the parameter --coracle_opt.
#pragma once

#include <optional>
#include <string>

namespace coracle::codegen {

struct options {
  // A namespace inside that of the package, so that the generated classes do not clash with those of
  // grpc_cpp_plugin and of cc_generic_services, which have the same names.
  std::string inner_namespace = "rpc";
  // Replaces the package in the paths of calls. For a .proto whose package was changed to keep its C++
  // classes apart from those that other code generates from the same definitions.
  std::optional<std::string> wire_package;
  // Whether to write a second header, with fake services for tests.
  bool fakes = false;
  // The module, or the partition of a module, that exports what the headers declare; empty if there is none.
  std::string module;
};

inline constexpr const char* options_help =
    "options: namespace=NAME (the namespace of the classes inside that of the package; rpc if not given), "
    "wire_package=NAME (the package in the paths of calls; that of the .proto if not given), "
    "fakes=true (writes FILE.coracle.fake.hpp, too: services for tests that answer as they are told), "
    "module=NAME (writes FILE.coracle.cppm, too: the module of that name, or the partition MODULE:NAME, with "
    "the "
    "messages and the classes)";

// Empty if `text` is invalid; `error` then says in one line what is valid.
std::optional<options> parse_options(const std::string& text, std::string& error);

}  // namespace coracle::codegen
