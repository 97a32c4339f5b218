// project_name: what a new project is called, in its folder and in its code.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace coracle::tools {

struct project_name {
  // The last part of the path is the name: lower-case letters, digits and single '-' or '_' between them, beginning
  // with a letter. Throws usage_failure for others, and for those that C++ needs for something else.
  explicit project_name(const std::filesystem::path& folder);

  // The text with its placeholders replaced: project_name by the name in code, project-name by that of the folder.
  [[nodiscard]] std::string put_into(std::string_view text) const;

  std::string of_folder;  // movie-shop
  std::string in_code;  // movie_shop: a protobuf package, a C++ namespace, a CMake project
};

}  // namespace coracle::tools
