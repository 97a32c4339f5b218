// diff_command: coracle diff shows what a newer version of definitions breaks.
#include "tools/commands.hpp"
#include "tools/diff/breaking_changes.hpp"
#include "tools/endpoint.hpp"
#include "tools/exit_codes.hpp"
#include "tools/failure.hpp"
#include "tools/schema/from_files.hpp"
#include "tools/schema/reflected.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/client.hpp>
#include <coracle/runtime.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

// One version of definitions: a .proto file, a folder of them, a descriptor set, or a server.
class definition_source {
 public:
  definition_source(const std::string& name, const std::vector<std::string>& imports, const endpoint& options)
      : where_(options.at(name)) {
    std::error_code unknown;
    if (fs::is_directory(name, unknown)) {
      types_.emplace(from_files(protos_in(name), {name}, {}));
    } else if (fs::exists(name, unknown)) {
      is_proto_ = name.ends_with(".proto");
      if (is_proto_) types_.emplace(from_files({name}, imports_of(name, imports), {}));
      else types_.emplace(from_files({}, {}, {name}));
    } else if (name.find(':') == name.npos || name.ends_with(".proto")) {
      throw usage_failure("there is no file or folder " + name + "; a server is written as host:port");
    } else {
      on_.emplace(1);
      server_.emplace(*on_, where_.address(), where_.credentials(), where_.options());
      types_.emplace(reflected(*server_, where_));
    }
  }

  [[nodiscard]] definition_set files() { return types_->files(); }
  // The name of the file in its definitions, if the source is a .proto file; its imports come before it.
  [[nodiscard]] std::string file_name() {
    return is_proto_ ? std::string(files().back()->name()) : std::string();
  }

 private:
  // Without -I, a file is found by its own folder, so that the names of two versions agree.
  static std::vector<std::string> imports_of(const std::string& file,
                                             const std::vector<std::string>& imports) {
    if (!imports.empty()) return imports;
    const fs::path folder = fs::path(file).parent_path();
    return {folder.empty() ? "." : folder.string()};
  }

  static std::vector<std::string> protos_in(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& one : fs::recursive_directory_iterator(folder))
      if (one.path().extension() == ".proto") all.push_back(fs::relative(one.path(), folder).string());
    if (all.empty()) throw usage_failure("there are no .proto files in " + folder);
    std::sort(all.begin(), all.end());
    return all;
  }

  endpoint where_;
  bool is_proto_ = false;
  std::optional<runtime> on_;
  std::optional<channel> server_;
  std::optional<schema> types_;
};

struct diff_command {
  endpoint options;
  std::string older, newer;
  std::vector<std::string> imports;
  std::string against = "source";
  std::string format = "human";

  int run() {
    definition_source before(older, imports, options);
    definition_source after(newer, imports, options);
    std::vector<breaking_change> all =
        breaking_changes(before.files(), after.files(), {name_in(before, after), name_in(after, before)});
    std::erase_if(all, [&](const breaking_change& one) { return one.breaks > limit(); });
    print(format == "json" ? json_of(all) : text_of(all));
    return all.empty() ? 0 : exit_check_failed;
  }

  // The name of the file that is compared as one, whatever it is called: that of a .proto file, or against
  // one the only file with its package.
  static std::string name_in(definition_source& source, definition_source& other) {
    const std::string single = other.file_name();
    if (single.empty() || !source.file_name().empty()) return source.file_name();
    const auto& package = other.files().back()->package();
    std::string found;
    for (const auto* const file : source.files()) {
      if (file->package() != package) continue;
      if (!found.empty()) return {};
      found = file->name();
    }
    return found;
  }

  [[nodiscard]] breakage limit() const {
    if (against == "wire") return breakage::wire;
    return against == "json" ? breakage::json : breakage::source;
  }

  static std::string json_of(const std::vector<breaking_change>& all) {
    std::string lines;
    for (const breaking_change& one : all) {
      const nlohmann::ordered_json line{{"breaks", name_of(one.breaks)},
                                        {"rule", one.rule},
                                        {"element", one.element},
                                        {"location", one.location},
                                        {"message", one.text}};
      lines += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
    }
    return lines;
  }

  [[nodiscard]] std::string text_of(const std::vector<breaking_change>& all) const {
    if (all.empty()) return "No breaking changes (" + against + ").\n";
    std::string text;
    std::optional<breakage> heading;
    for (const breaking_change& one : all) {
      if (heading != one.breaks) {
        constexpr const char* headings[] = {
            "Breaks messages and calls on the wire:", "Breaks messages in JSON:", "Breaks source code:"};
        text += (heading ? "\n" : "") + std::string(headings[static_cast<int>(one.breaks)]) + "\n";
        heading = one.breaks;
      }
      text += "  " + one.location + ": " + one.text + "\n";
    }
    return terminal_text(text);
  }
};

}  // namespace

void add_diff(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "diff", "Find what a newer version of definitions breaks: on the wire, in JSON, in source code");
  const auto it = std::make_shared<diff_command>();
  command
      ->add_option("OLD", it->older,
                   "A .proto file, a folder of them, a descriptor set, or the address of a server")
      ->required();
  command->add_option("NEW", it->newer, "The newer version, likewise")->required();
  command
      ->add_option("--against", it->against,
                   "What must stay compatible. wire: messages and calls; json: JSON, too; source: code that "
                   "uses the generated classes, too")
      ->check(CLI::IsMember({"wire", "json", "source"}))
      ->capture_default_str();
  command->add_option("--format", it->format, "How changes are printed. json: one line for each")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  command->add_option("-I,--import", it->imports, "Look for the imports of .proto files in this folder")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false);
  it->options.add_to(*command, endpoint::address_use::none);
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
