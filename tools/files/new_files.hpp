// new_files: creates the files of a command, all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools {

// Overwrites nothing unless it replaces: each file is created with O_EXCL, which does not follow a symbolic
// link either. The destructor removes the created files unless keep() was called, so that an exception
// leaves no files behind, and those that exist as they were.
class new_files {
 public:
  enum class readable { by_all, by_owner };  // as the umask allows; 0600 from the start

  // `replace`: files that exist are replaced by keep(), instead of being an error.
  explicit new_files(bool replace = false) noexcept : replace_(replace) {}
  new_files(const new_files&) = delete;
  new_files& operator=(const new_files&) = delete;
  ~new_files();

  // Creates a folder and its missing parents. Throws failure.
  void folder(const std::filesystem::path& path);
  // Creates a file. Throws failure, also if something with that name exists and is not replaced.
  void write(const std::filesystem::path& path, std::string_view content,
             readable readable_by = readable::by_all);
  // Throws failure if a file cannot be replaced.
  void keep();

 private:
  const bool replace_;
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> renamed_;  // by keep(): from, to
  std::vector<std::filesystem::path> made_;  // in order of creation
};

// Whether anything with that name exists, even a dangling symbolic link. Throws failure if that cannot be
// determined.
bool is_taken(const std::filesystem::path& path);

}  // namespace coracle::tools
