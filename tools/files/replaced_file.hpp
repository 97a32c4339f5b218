// replaced_file: gives a file new content, all of it or none.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

// Throws failure if replace_file() cannot write beside the file, or the file must not be written.
void check_replaceable(const std::string& path);

// Writes a file beside it, and renames that one: whatever happens, the content is the old or the new one. A
// symbolic link stays, and so do the permissions of a file that exists. Throws failure.
void replace_file(const std::string& path, std::string_view content);

}  // namespace coracle::tools
