// new_command: coracle new creates a project that configures, builds and passes its test at once.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/files/new_files.hpp"
#include "tools/new/project_name.hpp"
#include "tools/new/template_files.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

void refuse_existing(const fs::path& folder, bool force) {
  if (!is_taken(folder)) return;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw failure(folder.string() + " exists and is not a directory; choose another name, or move it away");
  const bool empty = fs::is_empty(folder, error);
  if (error) throw failure("cannot read the directory " + folder.string() + ": " + error.message());
  if (!empty && !force)
    throw failure(folder.string() +
                  " exists and is not empty; choose another name, or replace the files of the project in it "
                  "with --force");
}

// The folders of the template that a project consists of; a file in a later one replaces one in an earlier
// one.
struct variant {
  const char* flag;
  const char* text;
  std::vector<std::string_view> folders;
  const char* library;
};

const std::vector<variant>& variants() {
  static const std::vector<variant> all{
      {"", "", {"project", "plain", "greet"}, "coracle::coracle"},
      {"--empty", "A service without methods", {"project", "plain", "empty"}, "coracle::coracle"},
      {"--unary", "One unary method", {"project", "plain", "unary"}, "coracle::coracle"},
      {"--streaming",
       "Methods with streams of requests, of replies, and of both",
       {"project", "plain", "streaming"},
       "coracle::coracle"},
      {"--tls", "The default methods, with TLS", {"project", "greet", "tls"}, "coracle::tls"},
  };
  return all;
}

// "project/dot_github/workflows/ci.yml" becomes ".github/workflows/ci.yml".
std::string file_name(std::string_view name, const project_name& project) {
  name.remove_prefix(name.find('/') + 1);
  constexpr std::string_view hidden = "dot_";
  if (name.starts_with(hidden)) return "." + project.put_into(name.substr(hidden.size()));
  return project.put_into(name);
}

std::map<std::string, std::string> files_of(const variant& chosen, const project_name& project) {
  std::map<std::string, std::string> all;
  for (const std::string_view folder : chosen.folders)
    for (const template_file& file : template_files()) {
      if (file.name.substr(0, file.name.find('/')) != folder) continue;
      std::string text = project.put_into(file.text);
      constexpr std::string_view placeholder = "CORACLE_LIBRARY";
      for (std::size_t at = 0; (at = text.find(placeholder, at)) != text.npos;)
        text.replace(at, placeholder.size(), chosen.library);
      all[file_name(file.name, project)] = std::move(text);
    }
  return all;
}

constexpr const char* next_steps =
    "Next:\n"
    "  cd PROJECT_FOLDER\n"
    "  cmake --preset release     # with -DCMAKE_PREFIX_PATH=DIR if Coracle is installed in a separate "
    "folder\n"
    "  cmake --build build --parallel\n"
    "  ctest --preset release\n"
    "README.md describes the files and the next steps.\n";

int make(const fs::path& folder, const variant& chosen, bool force) {
  const project_name name(folder);
  refuse_existing(folder, force);
  new_files files(force);
  files.folder(folder);
  for (const auto& [path, text] : files_of(chosen, name)) {
    files.folder((folder / path).parent_path());
    files.write(folder / path, text);
  }
  files.keep();

  std::string steps = name.put_into(next_steps);
  const std::string placeholder = "PROJECT_FOLDER";
  steps.replace(steps.find(placeholder), placeholder.size(), folder.string());
  std::fprintf(stderr, "%s has a service, a server, a client and a test. %s", folder.c_str(), steps.c_str());
  return 0;
}

}  // namespace

void add_new(CLI::App& app, action& chosen) {
  struct choice {
    std::string folder;
    bool force = false;
    const variant* content = &variants().front();
  };
  const auto it = std::make_shared<choice>();
  CLI::App* command = app.add_subcommand(
      "new", "Create a project with a .proto file, a server, a client, a test and CMakeLists.txt");
  command->add_option("FOLDER", it->folder, "A new folder, whose name becomes the name of the project")
      ->required()
      ->type_name("");
  std::vector<CLI::Option*> flags;
  for (const variant& one : variants()) {
    if (*one.flag == '\0') continue;
    flags.push_back(command->add_flag_callback(one.flag, [it, &one] { it->content = &one; }, one.text));
    for (std::size_t i = 0; i + 1 < flags.size(); ++i) flags.back()->excludes(flags[i]);
  }
  command->add_flag("--force", it->force,
                    "Write into a folder that is not empty, and replace the files of the project in it");
  command->callback([it, &chosen] { chosen = [it] { return make(it->folder, *it->content, it->force); }; });
}

}  // namespace coracle::tools
