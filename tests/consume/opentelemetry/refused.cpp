// What the plugin does not have is refused with words when it is compiled.
#include <grpcpp/ext/otel_plugin.h>

#include <memory>

int main() {
  grpc::OpenTelemetryPluginBuilder builder;
  builder.AddPluginOption(std::make_unique<grpc::OpenTelemetryPluginOption>());
  builder.SetChannelScopeFilter([](const auto&) { return true; });
}
