// project_name: the name of a new project, for its folder and for its code.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace coracle::tools {

struct project_name {
  // The last part of the path is the name: lower-case letters, digits and single '-' or '_' between them,
  // beginning with a letter. Throws usage_failure for other names, and for those that C++ reserves or the C
  // library uses.
  explicit project_name(const std::filesystem::path& folder);

  // Returns the text with its placeholders replaced: project_name by in_code, project-name by of_folder.
  [[nodiscard]] std::string put_into(std::string_view text) const;

  std::string of_folder;  // movie-shop
  std::string in_code;  // movie_shop: a protobuf package, a C++ namespace, a CMake project
};

}  // namespace coracle::tools
