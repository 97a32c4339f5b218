// new_files: the files that a command makes, all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Never overwrites anything: each file is created with O_EXCL, which follows no symbolic link either. What has been made
// is removed by the destructor, unless keep() was called; so whoever throws in between leaves nothing behind.
class new_files {
 public:
  enum class readable { by_all, by_owner };  // as the umask allows, or 0600 from the start

  new_files() = default;
  new_files(const new_files&) = delete;
  new_files& operator=(const new_files&) = delete;
  ~new_files();

  // Makes a folder, and those above it, where it is missing. Throws failure.
  void folder(const std::filesystem::path& path);
  // Throws failure, also when there is something of that name.
  void write(const std::filesystem::path& path, std::string_view content, readable who = readable::by_all);
  void keep() noexcept { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // in this order
};

// Anything of that name, were it a symbolic link that leads nowhere. Throws failure when nobody can say.
bool is_taken(const std::filesystem::path& path);

}  // namespace coracle::tools
