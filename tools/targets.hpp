// targets: servers with a name, from the configuration file of a user.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

// A target as command-line options, in the order of the file: {"--ca", "/etc/ca.pem"}. Flags have no value.
struct target {
  std::string address;
  std::vector<std::pair<std::string, std::string>> options;
  // The values are used unchanged: commands and files may have printed them.
  std::vector<std::pair<std::string, std::string>> headers;
};

// CORACLE_CONFIG, or coracle/config.json in XDG_CONFIG_HOME (normally ~/.config).
[[nodiscard]] std::string configuration_path();

// The target with this name. Runs the commands and reads the files that its headers name. Relative paths are
// relative to the folder of the file. Throws usage_failure, which names the file and the faulty key.
[[nodiscard]] target target_named(const std::string& name);

// The names of all targets, for completion; empty if there is no valid file.
[[nodiscard]] std::vector<std::string> target_names() noexcept;

}  // namespace coracle::tools
