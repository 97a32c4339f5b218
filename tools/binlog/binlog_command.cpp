// binlog_command: coracle binlog prints a binary log of calls.
#include "tools/binlog/entry_text.hpp"
#include "tools/binlog/log_reader.hpp"
#include "tools/commands.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace coracle::tools {

namespace {

namespace log_messages = ::grpc::binarylog::v1;
using log_messages::GrpcLogEntry;

struct binlog_command {
  std::string file;
  std::optional<std::uint64_t> call;
  std::string method;
  std::string format = "human";

  int run() {
    log_reader log(file);
    if (format == "human")
      print("time                         call  seq logger event                length details\n");
    while (const std::optional<GrpcLogEntry> entry = log.next()) {
      const std::string name = method_of(*entry);
      if (call && entry->call_id() != *call) continue;
      if (!method.empty() && name.find(method) == name.npos) continue;
      print(format == "json" ? entry_json(*entry, name) : entry_lines(*entry, name));
    }
    return 0;
  }

 private:
  // Of the call, which only its first entry has. Client and server of one process count together, but a log
  // may be of several processes.
  std::string method_of(const GrpcLogEntry& e) {
    const std::pair key(e.logger(), e.call_id());
    if (e.has_client_header()) return methods_[key] = e.client_header().method_name();
    const auto found = methods_.find(key);
    if (found == methods_.end()) return {};
    const bool last =
        e.type() == GrpcLogEntry::EVENT_TYPE_SERVER_TRAILER || e.type() == GrpcLogEntry::EVENT_TYPE_CANCEL;
    return last ? std::move(methods_.extract(found).mapped()) : found->second;
  }

  std::map<std::pair<GrpcLogEntry::Logger, std::uint64_t>, std::string> methods_;  // of calls that go on
};

}  // namespace

void add_binlog(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("binlog", "Print a binary log: metadata, messages and statuses of calls");
  const auto it = std::make_shared<binlog_command>();
  command->add_option("FILE", it->file, "The log that a program with Coracle or grpc-go has written")
      ->required();
  command->add_option("--call", it->call, "Only entries of the calls with this number")->type_name("N");
  command->add_option("--method", it->method, "Only entries of calls whose method contains this text")
      ->type_name("TEXT");
  command
      ->add_option("--format", it->format, "How entries are printed. json: one line for each, with messages")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
