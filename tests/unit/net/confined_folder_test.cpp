#include "net/confined_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace coracle::net::confined_folder_test {
namespace {

namespace fs = std::filesystem;

class ConfinedFolder : public ::testing::TestWithParam<confined_folder::confinement> {
 protected:
  ConfinedFolder() {
    std::string name = (fs::temp_directory_path() / "coracle-folder-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "web/a");
    std::ofstream(root_ / "web/a/b.txt") << "0123456789";
    std::ofstream(root_ / "secret.txt") << "secret";
  }
  ~ConfinedFolder() override { fs::remove_all(root_); }
  [[nodiscard]] std::shared_ptr<const confined_folder> open() const {
    return confined_folder::open((root_ / "web").string(), GetParam()).value();
  }

  fs::path root_;
};
std::string case_name(const ::testing::TestParamInfo<confined_folder::confinement>& of) {
  return of.param == confined_folder::confinement::by_kernel ? "by_kernel" : "by_steps";
}
INSTANTIATE_TEST_SUITE_P(Either, ConfinedFolder,
                         ::testing::Values(confined_folder::confinement::by_kernel,
                                           confined_folder::confinement::by_steps),
                         case_name);

TEST_P(ConfinedFolder, FindsFilesAndFolders) {
  const auto folder = open();
  const auto file = folder->find("a/b.txt");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->is_folder);
  EXPECT_EQ(file->size_bytes, 10u);
  EXPECT_EQ(file->read(2, 3), "234");
  EXPECT_EQ(file->read(8, 100), "89");
  EXPECT_EQ(file->read(100, 1), "");
  EXPECT_TRUE(folder->find("a").value().is_folder);
  EXPECT_TRUE(folder->find("").value().is_folder);
}

TEST_P(ConfinedFolder, AnythingElseIsNotFound) {
  fs::create_symlink(root_ / "secret.txt", root_ / "web/absolute.txt");
  fs::create_symlink("../secret.txt", root_ / "web/relative.txt");
  fs::create_symlink("..", root_ / "web/up");
  ASSERT_EQ(::mkfifo((root_ / "web/fifo").c_str(), 0600), 0);
  const auto folder = open();
  for (const char* path : {"absent.txt", "absent/b.txt", "a/b.txt/c", "absolute.txt", "relative.txt",
                           "up/secret.txt", "up/web/a/b.txt", "fifo"})
    EXPECT_EQ(folder->find(path).status().code(), status_code::not_found) << path;
}

TEST_P(ConfinedFolder, OnlyTheKernelFollowsLinksSafely) {
  fs::create_symlink("a", root_ / "web/link");
  EXPECT_EQ(open()->find("link/b.txt").ok(), GetParam() == confined_folder::confinement::by_kernel);
}

TEST_P(ConfinedFolder, AFolderThatCannotBeOpenedIsAnError) {
  EXPECT_EQ(confined_folder::open((root_ / "absent").string(), GetParam()).status().code(),
            status_code::not_found);
}

}  // namespace
}  // namespace coracle::net::confined_folder_test
