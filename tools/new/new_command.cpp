// new_command: coracle new creates a project that configures, builds and passes its test at once.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/files/new_files.hpp"
#include "tools/new/project_name.hpp"
#include "tools/new/template_files.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

void refuse_existing(const fs::path& folder) {
  if (!is_taken(folder)) return;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw failure(folder.string() + " exists and is not a directory; choose another name, or move it away");
  const bool empty = fs::is_empty(folder, error);
  if (error) throw failure("cannot read the directory " + folder.string() + ": " + error.message());
  if (!empty)
    throw failure(folder.string() + " exists and is not empty; choose another name, or move it away");
}

std::string file_name(const template_file& file, const project_name& name) {
  if (file.name == "gitignore") return ".gitignore";
  return name.put_into(file.name);
}

constexpr const char* next_steps =
    "Next:\n"
    "  cd PROJECT_FOLDER\n"
    "  cmake -S . -B build     # where coracle is installed in a place of its own: -DCMAKE_PREFIX_PATH=that "
    "place\n"
    "  cmake --build build\n"
    "  ctest --test-dir build\n"
    "  build/project_name_server                          # and in another terminal:\n"
    "  build/project_name_client 127.0.0.1:50051 Ada\n"
    "README.md says what is where, and how to go on.\n";

int make(const fs::path& folder) {
  const project_name name(folder);
  refuse_existing(folder);
  new_files files;
  files.folder(folder);
  for (const auto& file : template_files())
    files.write(folder / file_name(file, name), name.put_into(file.text));
  files.keep();

  std::string steps = name.put_into(next_steps);
  const std::string placeholder = "PROJECT_FOLDER";
  steps.replace(steps.find(placeholder), placeholder.size(), folder.string());
  std::fprintf(stderr, "%s has a service, a server, a client and a test. %s", folder.c_str(), steps.c_str());
  return 0;
}

}  // namespace

void add_new(CLI::App& app, action& chosen) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "new", "creates a project with a .proto file, a server, a client, a test and CMakeLists.txt");
  command->add_option("FOLDER", *folder, "a new folder, whose name becomes the name of the project")
      ->required()
      ->type_name("");
  command->callback([folder, &chosen] { chosen = [folder] { return make(*folder); }; });
}

}  // namespace coracle::tools
