#include "tools/files/new_files.hpp"

#include "tools/failure.hpp"
#include "tools/files/write_all.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace coracle::tools {

namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path, int error) {
  throw failure(std::string("cannot ")
                    .append(action)
                    .append(" ")
                    .append(path.string())
                    .append(": ")
                    .append(std::strerror(error)));
}

}  // namespace

new_files::~new_files() {
  std::error_code ignored;
  while (!made_.empty()) {
    std::filesystem::remove(made_.back(),
                            ignored);  // removes a folder only if it is empty
    made_.pop_back();
  }
}

void new_files::folder(const std::filesystem::path& path) {
  std::error_code unknown;
  if (path.empty() || std::filesystem::is_directory(path, unknown)) return;
  folder(path.parent_path());
  if (::mkdir(path.c_str(), 0777) == 0) {
    made_.push_back(path);
    return;
  }
  const int error = errno;
  // "out/" exists as soon as "out" does.
  if (error == EEXIST && std::filesystem::is_directory(path, unknown)) return;
  fail("create the directory", path, error == EEXIST ? ENOTDIR : error);
}

void new_files::write(const std::filesystem::path& path, std::string_view content, readable readable_by) {
  const mode_t mode = readable_by == readable::by_owner ? 0600 : 0666;
  const bool replaces = replace_ && is_taken(path);
  const std::filesystem::path created = replaces ? std::filesystem::path(path.string() + ".part") : path;
  const int descriptor = ::open(created.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) fail("create", created, errno);
  made_.push_back(created);
  if (replaces) renamed_.emplace_back(created, path);
  int error = write_all(descriptor, content);
  // A full disk may be reported only by close().
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) fail("write", path, error);
}

void new_files::keep() {
  for (const auto& [from, to] : renamed_)
    if (std::rename(from.c_str(), to.c_str()) != 0) fail("replace", to, errno);
  made_.clear();
}

bool is_taken(const std::filesystem::path& path) {
  std::error_code error;
  const auto found = std::filesystem::symlink_status(path, error);
  if (found.type() == std::filesystem::file_type::none) fail("look for", path, error.value());
  return std::filesystem::exists(found);
}

}  // namespace coracle::tools
