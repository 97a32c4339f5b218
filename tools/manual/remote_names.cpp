#include "tools/manual/remote_names.hpp"

#include "tools/failure.hpp"
#include "tools/schema/session.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace coracle::tools {

namespace {

constexpr auto kept_for = std::chrono::minutes(5);
constexpr std::size_t kept_files_max = 32;
constexpr std::size_t kept_names_max = 10'000;

// One line: its kind (service, method, message), the name, and what it is.
struct known_name {
  std::string kind, name, description;
};
using known_names = std::vector<known_name>;

// The server may not answer; the shell must not wait. There is nothing to clean up.
void end_after_half_a_second() {
  std::signal(SIGALRM, [](int) { ::_exit(0); });
  itimerval limit{};
  limit.it_value.tv_usec = 500'000;
  ::setitimer(ITIMER_REAL, &limit, nullptr);
}

std::filesystem::path cache_folder() {
  const char* const chosen = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (chosen && *chosen) return std::filesystem::path(chosen) / "coracle";
  return home && *home ? std::filesystem::path(home) / ".cache/coracle" : std::filesystem::path();
}

std::string kind_of(const google::protobuf::MethodDescriptor& m) {
  const char* const kinds[] = {"unary", "server stream", "client stream", "both directions stream"};
  return kinds[(m.client_streaming() ? 2 : 0) + (m.server_streaming() ? 1 : 0)];
}

known_names names_of(schema& types) {
  known_names all;
  const auto add_message = [&](const google::protobuf::Descriptor& type) {
    all.push_back({"message", terminal_line(type.full_name()), "message"});
  };
  for (const auto* const defined : types.defined_services()) {
    const auto& s = *defined;
    all.push_back({"service", terminal_line(s.full_name()), std::to_string(s.method_count()) + " methods"});
    for (int i = 0; i < s.method_count() && all.size() < kept_names_max; ++i) {
      all.push_back({"method", terminal_line(path_of(*s.method(i)).substr(1)), kind_of(*s.method(i))});
      add_message(*s.method(i)->input_type());
      add_message(*s.method(i)->output_type());
    }
  }
  return all;
}

// The names that a server gave to the same words before.
class name_cache {
 public:
  explicit name_cache(const std::vector<std::string>& typed) : folder_(cache_folder()) {
    std::string all;
    for (const std::string& word : typed) all += word + '\n';
    for (const char* name : {"CORACLE_CONFIG", "XDG_CONFIG_HOME"})
      if (const char* const value = std::getenv(name)) all += value + std::string("\n");
    file_ = folder_ / ("names-" + std::to_string(std::hash<std::string>()(all)));
  }

  [[nodiscard]] std::optional<known_names> read() const {
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(file_, missing);
    if (missing || std::filesystem::file_time_type::clock::now() - written > kept_for) return std::nullopt;
    std::ifstream in(file_);
    known_names all;
    for (std::string line; std::getline(in, line);) {
      std::istringstream parts(line);
      known_name one;
      std::getline(parts, one.kind, '\t');
      std::getline(parts, one.name, '\t');
      std::getline(parts, one.description);
      all.push_back(std::move(one));
    }
    return all;
  }

  // Failures are no concern of the user, who presses Tab.
  void write(const known_names& all) const {
    if (folder_.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    remove_old_files();
    std::string text;
    for (const known_name& one : all) text += one.kind + '\t' + one.name + '\t' + one.description + '\n';
    const std::string part = file_.string() + ".part-" + std::to_string(::getpid());
    const int made = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made < 0) return;
    const bool whole = ::write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(made);
    if (!whole || std::rename(part.c_str(), file_.c_str()) != 0) std::filesystem::remove(part, ignored);
  }

 private:
  void remove_old_files() const {
    std::error_code ignored;
    std::multimap<std::filesystem::file_time_type, std::filesystem::path> by_age;
    for (const auto& one : std::filesystem::directory_iterator(folder_, ignored))
      if (one.path().filename().string().starts_with("names-"))
        by_age.emplace(one.last_write_time(ignored), one.path());
    for (auto oldest = by_age.begin(); by_age.size() >= kept_files_max; oldest = by_age.erase(oldest))
      std::filesystem::remove(oldest->second, ignored);
  }

  std::filesystem::path folder_, file_;
};

// Options of the command that a session does not have are skipped, with what looks like their values.
known_names read_names(const std::vector<std::string>& typed) {
  const bool local = std::any_of(typed.begin(), typed.end(), [](const std::string& word) {
    return word == "--proto" || word.starts_with("--proto=") || word.starts_with("--protoset");
  });
  const name_cache cache(typed);
  if (!local)
    if (auto kept = cache.read()) return *kept;
  CLI::App line;
  session at;
  at.add_to(line, endpoint::address_use::optional);
  line.allow_extras();
  end_after_half_a_second();  // from here on: the parsing runs the commands of a target
  std::vector<std::string> reversed(typed.rbegin(), typed.rend());
  line.parse(reversed);
  if (at.where().typed_address().empty() && !at.has_files()) return {};
  known_names all = names_of(at.types());
  if (!local) cache.write(all);
  return all;
}

std::string_view after_last(std::string_view name, std::string_view separators) {
  const std::size_t at = name.find_last_of(separators);
  return at == name.npos ? name : name.substr(at + 1);
}

}  // namespace

std::vector<remote_name> remote_names(const std::string& command, const std::vector<std::string>& typed,
                                      const std::string& begun) try {
  std::vector<remote_name> found;
  std::map<std::string_view, std::set<std::string_view>> named;  // full names by their last part
  const known_names all = read_names(typed);
  for (const known_name& one : all) named[after_last(one.name, "/.")].insert(one.name);
  const bool wants_services = command == "ls" || command == "describe" || command == "openapi";
  const bool wants_methods = command != "ls" && command != "openapi";
  for (const known_name& one : all) {
    if (one.kind == "method" && !wants_methods) continue;
    if (one.kind == "service" && !wants_services) continue;
    if (one.kind == "message" && command != "describe") continue;
    found.push_back({one.name, one.description});
    // "Add" becomes AddMovie: the last part of a name is enough if it is unique.
    const std::string_view last = after_last(one.name, "/.");
    if (!begun.empty() && last.starts_with(begun) && named[last].size() == 1)
      found.push_back({std::string(last), one.description});
  }
  return found;
} catch (const std::exception&) {
  return {};
}

}  // namespace coracle::tools
