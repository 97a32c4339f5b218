#include <grpcpp/xds_server_builder.h>

#include "adapters/grpcpp/src/server/port_listener.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/server/server.hpp"
#include "coracle/xds/xds_server.hpp"

#include <chrono>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace grpc {

namespace {

class mesh_listener final : public internal::port_listener {
 public:
  mesh_listener(coracle::server& on, const coracle::xds_server_options& options) : mesh_(on, options) {}
  coracle::status listen(std::string_view address, const coracle::server_credentials& credentials) override {
    return mesh_.listen(address, credentials);
  }

 private:
  coracle::xds_server mesh_;
};

template <class Value>
const Value* argument(const ChannelArguments& of, const char* name) {
  const auto found = of.values().find(name);
  return found == of.values().end() ? nullptr : std::get_if<Value>(&found->second);
}

}  // namespace

ChannelArguments XdsServerBuilder::BuildChannelArgs() {
  ChannelArguments arguments = ServerBuilder::BuildChannelArgs();
  if (drain_grace_ms_ >= 0)
    arguments.replace(GRPC_ARG_SERVER_CONFIG_CHANGE_DRAIN_GRACE_TIME_MS, drain_grace_ms_);
  coracle::xds_server_options options;
  if (const auto* const json =
          argument<std::string>(arguments, GRPC_ARG_TEST_ONLY_DO_NOT_USE_IN_PROD_XDS_BOOTSTRAP_CONFIG))
    options.mesh.bootstrap = *json;
  if (const int* const ms = argument<int>(arguments, GRPC_ARG_SERVER_CONFIG_CHANGE_DRAIN_GRACE_TIME_MS);
      ms && *ms >= 0)
    options.drain_grace =
        *ms == std::numeric_limits<int>::max() ? coracle::duration::max() : std::chrono::milliseconds(*ms);
  if (notifier_)
    options.on_serving_change = [to = notifier_](const coracle::net::address& at, const coracle::status& s) {
      to->OnServingStatusUpdate(at.to_string(), {internal::status_of(s)});
    };
  set_listener([options = std::move(options)](coracle::server& on) {
    return std::make_shared<mesh_listener>(on, options);
  });
  return arguments;
}

}  // namespace grpc
