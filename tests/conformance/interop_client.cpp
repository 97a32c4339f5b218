// interop_client: runs one case of gRPC's interop description against somebody's interop server.
#include "interop_cases.hpp"

#include "../../examples/command_line.hpp"

#include <algorithm>
#include <string>

namespace {

interop::test_case find_case(const std::string& name) {
  const auto cases = interop::cases();
  const auto found = std::ranges::find_if(cases, [&](const auto& one) { return name == one.name; });
  if (found != cases.end()) return found->run;
  std::string known;
  for (const auto& one : cases) known.append(" ").append(one.name);
  throw examples::usage_error("there is no --test_case '" + name + "'; the cases are" + known);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("interop_client", [&] {
    const examples::command_line line(argc, argv, {"server_host", "server_port", "test_case", "use_tls"}, 0);
    if (line.option("use_tls").value_or("false") != "false")
      throw examples::usage_error("--use_tls is not supported yet; leave it out");
    const auto host = line.option("server_host").value_or("127.0.0.1");
    const auto port = std::to_string(line.port("server_port"));
    const auto address = host.find(':') == host.npos ? host + ":" + port : "[" + host + "]:" + port;
    const auto run_case = find_case(line.option("test_case").value_or(""));
    coracle::runtime runtime;
    coracle::channel channel(runtime, address, coracle::insecure());
    coracle::sync_wait(runtime, run_case(channel));
    return 0;
  });
}
