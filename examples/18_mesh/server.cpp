// mesh_server: a member of a mesh. The control plane of the bootstrap decides which connections and calls it accepts, and its TLS.
#include "../command_line.hpp"
#include "mesh.coracle.hpp"

#include <coracle/server.hpp>
#include <coracle/telemetry/with_pages.hpp>
#include <coracle/xds/credentials.hpp>
#include <coracle/xds/csds_service.hpp>
#include <coracle/xds/xds_server.hpp>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

namespace {

class backend final : public mesh::rpc::Backend::service {
 public:
  std::string name;
  std::string version;
  std::string fault;  // while this file exists, calls fail

 private:
  coracle::reply<mesh::Description> Describe(coracle::server_context& context,
                                             const mesh::DescribeRequest&) override {
    if (!fault.empty() && std::filesystem::exists(fault)) return coracle::status::internal("out of order");
    mesh::Description about;
    about.set_name(name);
    about.set_version(version);
    if (context.auth() && !context.auth()->identities().empty())
      about.set_caller(context.auth()->identities().front().value());
    return about;
  }
};

void print_mode(const coracle::net::address& at, const coracle::status& serving) {
  if (serving.ok()) std::printf("%s serves\n", at.to_string().c_str());
  else std::printf("%s does not serve: %s\n", at.to_string().c_str(), std::string(serving.message()).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("mesh_server", [&] {
    const examples::command_line line(
        argc, argv, "--address=IP:PORT --name=NAME --version=VERSION [--pages=IP:PORT] [--fault=FILE]");
    backend service;
    service.name = line.required("name");
    service.version = line.required("version");
    service.fault = line.option("fault").value_or("");
    coracle::runtime runtime;
    // What operators see, on a port of its own that the mesh does not know.
    coracle::csds_service csds;
    coracle::server operators(runtime);
    operators.add(csds);
    coracle::with_pages(operators);
    if (const auto at = line.option("pages")) {
      operators.listen(*at, coracle::insecure()).throw_if_error();
      operators.start();
    }

    coracle::server server(runtime);
    server.add(service);
    // --8<-- [start:mesh]
    coracle::xds_server_options options;
    options.on_serving_change = print_mode;
    coracle::xds_server mesh(server, options);
    mesh.listen(line.required("address"), coracle::xds_server_credentials(coracle::insecure()))
        .throw_if_error();
    // --8<-- [end:mesh]
    return server.run();
  });
}
