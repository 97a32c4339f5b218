// template_files: the files of tools/new/template/, embedded in the program. A project consists of those of
// several folders.
#pragma once

#include <span>
#include <string_view>

namespace coracle::tools {

struct template_file {
  std::string_view name;  // "greet/project_name.proto"; "project/dot_gitignore" becomes .gitignore
  std::string_view text;
};

std::span<const template_file> template_files();

}  // namespace coracle::tools
