// xds_interop_server: the server of gRPC's xDS interop tests, for any of their drivers.
#include "hook_service.hpp"
#include "mesh_service.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/server.hpp>
#include <coracle/services/defaults.hpp>
#include <coracle/xds/credentials.hpp>
#include <coracle/xds/csds_service.hpp>
#include <coracle/xds/xds_server.hpp>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace {

namespace pb = grpc::testing;

class health_updates final : public pb::rpc::XdsUpdateHealthService::service {
 public:
  health_updates(coracle::health_service& health, coracle::runtime& rt) noexcept
      : health_(health), hooks_(rt) {}

 private:
  coracle::reply<pb::Empty> SetServing(coracle::server_context&, const pb::Empty&) override {
    health_.set_status("", coracle::health_status::serving);
    return pb::Empty();
  }
  coracle::reply<pb::Empty> SetNotServing(coracle::server_context&, const pb::Empty&) override {
    health_.set_status("", coracle::health_status::not_serving);
    return pb::Empty();
  }
  coracle::reply<pb::HookResponse> SendHookRequest(coracle::server_context&,
                                                   const pb::HookRequest& request) override {
    const coracle::status done = hooks_.carry_out(request);
    if (!done.ok()) return done;
    return pb::HookResponse();
  }

  coracle::health_service& health_;
  interop::hook_server hooks_;
};

std::string machine_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("xds_interop_server", [&] {
    const examples::command_line line(argc, argv,
                                      "--port=PORT [--maintenance_port=PORT] [--secure_mode=true] "
                                      "[--server_id=TEXT] [--host_name_override=NAME]");
    const auto port = line.port("port");
    const bool secure = line.option("secure_mode").value_or("false") == "true";
    if (secure && !line.option("maintenance_port"))
      throw examples::usage_error("--secure_mode needs a --maintenance_port for what is not secured");
    interop::mesh_service service(line.option("host_name_override").value_or(machine_name()),
                                  line.option("server_id").value_or("coracle_server"));
    coracle::runtime rt(1);
    coracle::server tested(rt);
    tested.add(service);
    // Health, CSDS and channelz are reached in plaintext, whatever a control plane does to the other port.
    std::optional<coracle::server> apart;
    std::optional<coracle::xds_server> mesh;
    if (secure) {
      apart.emplace(rt);
      mesh.emplace(tested);
    }
    coracle::server& maintained = apart ? *apart : tested;
    coracle::csds_service csds;
    maintained.add(csds);
    health_updates updates(coracle::with_defaults(maintained), rt);
    maintained.add(updates);
    const std::string address = "0.0.0.0:" + std::to_string(port);
    if (mesh) {
      auto credentials = coracle::xds_server_credentials(coracle::insecure());
      mesh->listen(address, std::move(credentials)).throw_if_error();
      apart->listen("*:" + std::to_string(line.port("maintenance_port")), coracle::insecure())
          .throw_if_error();
    } else {
      tested.listen(address, coracle::insecure()).throw_if_error();
    }
    std::printf("listening on 0.0.0.0:%u\n", unsigned{tested.port()});
    if (apart) std::printf("maintenance on *:%u\n", unsigned{apart->port()});
    std::fflush(stdout);
    return tested.run();
  });
}
