// frames_command: coracle frames prints what the recorder of a program has kept, or writes it as a capture.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/files/output_file.hpp"
#include "tools/frames/capture.hpp"
#include "tools/frames/frame_list.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/rpc/recorder.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace coracle::tools {

namespace {

struct frames_command {
  std::string file;
  std::optional<std::uint32_t> connection;
  std::optional<std::uint32_t> stream;
  std::string method;
  std::string format = "human";
  std::string pcapng;

  int run() {
    output_file capture_file(pcapng);
    const result<recording> read = recording::read(file);
    if (!read) throw failure(std::string(read.status().message()));
    const auto included = [this](const recorded_event& e) { return includes(e); };
    if (!capture_file.requested()) {
      print(format == "json" ? frame_json(*read, included) : terminal_text(frame_list(*read, included)));
      return 0;
    }
    const capture made = capture_of(*read, included);
    capture_file.write(made.bytes);
    std::fputs(hint_of(made).c_str(), stderr);
    return 0;
  }

  [[nodiscard]] bool includes(const recorded_event& e) const {
    if (connection && e.connection != *connection) return false;
    if (stream && e.stream != *stream) return false;
    return method.empty() || e.method.find(method) != e.method.npos;
  }

  // Neither program looks for HTTP/2 on ports that it does not know.
  [[nodiscard]] std::string hint_of(const capture& made) const {
    std::string text = std::to_string(made.packets) + " packets; to read them: tshark -r " +
                       (pcapng == "-" ? "FILE" : pcapng);
    for (const std::uint16_t port : made.server_ports)
      text += " -d tcp.port==" + std::to_string(port) + ",http2";
    return text + "\n";
  }
};

}  // namespace

void add_frames(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "frames",
      "Print the frames and calls that the recorder of a program has kept, or write them as a capture");
  const auto it = std::make_shared<frames_command>();
  command->add_option("FILE", it->file, "The recording that the program, a crash or gdb has written")
      ->required();
  command->add_option("--connection", it->connection, "Only events of the connection with this number")
      ->type_name("N");
  command->add_option("--stream", it->stream, "Only events of the streams with this number")->type_name("N");
  command->add_option("--method", it->method, "Only events of calls whose method contains this text")
      ->type_name("TEXT");
  command->add_option("--format", it->format, "How events are printed. json: one line for each")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  command
      ->add_option("--pcapng", it->pcapng,
                   "Write the frames to this file, for Wireshark and tshark, instead of printing them; -: to "
                   "the standard output")
      ->type_name("FILE");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
