// The files of tools/new/template/, which the program carries along.
#pragma once

#include <span>
#include <string_view>

namespace coracle::tools {

struct template_file {
  std::string_view
      name;  // "project_name.proto"; "gitignore" without its dot, which would have git obey it here
  std::string_view text;
};

std::span<const template_file> template_files();

}  // namespace coracle::tools
