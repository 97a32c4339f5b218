// new_files: creates the files of a command, all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Never overwrites anything: each file is created with O_EXCL, which does not follow a symbolic link either.
// The destructor removes the created files unless keep() was called, so that an exception leaves no files
// behind.
class new_files {
 public:
  enum class readable { by_all, by_owner };  // as the umask allows; 0600 from the start

  new_files() = default;
  new_files(const new_files&) = delete;
  new_files& operator=(const new_files&) = delete;
  ~new_files();

  // Creates a folder and its missing parents. Throws failure.
  void folder(const std::filesystem::path& path);
  // Creates a file. Throws failure, also if something with that name exists.
  void write(const std::filesystem::path& path, std::string_view content,
             readable readable_by = readable::by_all);
  void keep() noexcept { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // in order of creation
};

// Whether anything with that name exists, even a dangling symbolic link. Throws failure if that cannot be
// determined.
bool is_taken(const std::filesystem::path& path);

}  // namespace coracle::tools
