// help_format: what --help prints.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace coracle::tools {

// The usage, arguments, options by groups (option_text.hpp), and examples (examples.hpp), in 78 columns.
class help_format final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace coracle::tools
