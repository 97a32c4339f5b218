// template_files: the files of tools/new/template/, embedded in the program.
#pragma once

#include <span>
#include <string_view>

namespace coracle::tools {

struct template_file {
  std::string_view name;  // "project_name.proto"; "gitignore" has no dot, so that git does not apply it here
  std::string_view text;
};

std::span<const template_file> template_files();

}  // namespace coracle::tools
