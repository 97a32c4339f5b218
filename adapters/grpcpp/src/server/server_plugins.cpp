#include "adapters/grpcpp/src/server/server_plugins.hpp"

#include <grpcpp/ext/admin_services.h>
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server_builder.h>

#include "adapters/grpcpp/src/process/xds_hooks.hpp"
#include "adapters/grpcpp/src/server/server_core.hpp"

#include "coracle/services/channelz_service.hpp"
#include "coracle/services/health_service.hpp"
#include "coracle/services/reflection_service.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace grpc {

namespace internal {
namespace {

using factory = std::unique_ptr<ServerBuilderPlugin> (*)();

std::mutex& changing_factories() {
  static std::mutex& only = *new std::mutex;
  return only;
}
// With the lock.
std::vector<factory>& factories() {
  static auto& all = *new std::vector<factory>;
  return all;
}

std::atomic<bool> has_default_health{false};

// Coracle's health service with the functions of this API.
class default_health final : public HealthCheckServiceInterface {
 public:
  [[nodiscard]] coracle::service& service() noexcept { return service_; }
  void SetServingStatus(const std::string& name, bool serving) override {
    const std::lock_guard lock(changing_);
    named_.insert(name);
    set(name, serving && !shut_down_);
  }
  void SetServingStatus(bool serving) override {
    const std::lock_guard lock(changing_);
    if (!shut_down_) set_all(serving);
  }
  void Shutdown() override {
    const std::lock_guard lock(changing_);
    shut_down_ = true;
    set_all(false);
  }

 private:
  void set(const std::string& name, bool serving) {
    service_.set_status(name,
                        serving ? coracle::health_status::serving : coracle::health_status::not_serving);
  }
  void set_all(bool serving) {
    for (const std::string& name : named_) set(name, serving);
  }
  coracle::health_service service_;
  std::mutex changing_;
  std::set<std::string> named_{""};  // services with a status of their own
  bool shut_down_ = false;
};

// Adds a service of Coracle.
class admin_plugin : public ServerBuilderPlugin {
 public:
  void InitServer(ServerInitializer* initializer) override {
    coracle::server& to = initializer->server().core().server();
    to.add(service_of(to));
  }
  void Finish(ServerInitializer*) override {}
  void ChangeArguments(const std::string&, void*) override {}
  bool has_sync_methods() const override { return true; }

 private:
  virtual std::shared_ptr<coracle::service> service_of(coracle::server& to) = 0;
};

class channelz_plugin final : public admin_plugin {
 public:
  std::string name() override { return "channelz_service"; }

 private:
  std::shared_ptr<coracle::service> service_of(coracle::server& to) override {
    const auto made = std::make_shared<coracle::channelz_service>(to);
    return {made, &static_cast<coracle::service&>(*made)};
  }
};

class csds_plugin final : public admin_plugin {
 public:
  std::string name() override { return "csds_service"; }

 private:
  std::shared_ptr<coracle::service> service_of(coracle::server& /*to*/) override { return new_csds(); }
};

class admin_services final : public ServerBuilderOption {
 public:
  void UpdateArguments(ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<ServerBuilderPlugin>>* plugins) override {
    add<channelz_plugin>(*plugins);
    if (&new_csds) add<csds_plugin>(*plugins);
  }

 private:
  // Unless it is there: InitChannelzService() adds it to all servers, and a program may build several of them.
  template <class Plugin>
  static void add(std::vector<std::unique_ptr<ServerBuilderPlugin>>& to) {
    auto made = std::make_unique<Plugin>();
    for (const auto& each : to)
      if (each->name() == made->name()) return;
    to.push_back(std::move(made));
  }
};

template <class Plugin>
std::unique_ptr<ServerBuilderPlugin> make_plugin() {
  return std::make_unique<Plugin>();
}

// Adds the factory of the plugin once.
template <class Plugin>
void add_once() {
  static std::once_flag added;
  std::call_once(added, [] { ServerBuilder::InternalAddPluginFactory(&make_plugin<Plugin>); });
}

}  // namespace

std::vector<std::unique_ptr<ServerBuilderPlugin>> new_plugins() {
  std::vector<std::unique_ptr<ServerBuilderPlugin>> made;
  const std::lock_guard lock(changing_factories());
  for (const factory create : factories()) made.push_back(create());
  return made;
}

std::shared_ptr<HealthCheckServiceInterface> add_health(coracle::server& to,
                                                        const ChannelArguments& arguments) {
  if (const auto found = arguments.values().find(kHealthCheckServiceInterfaceArg);
      found != arguments.values().end()) {
    void* const* const object = std::get_if<void*>(&found->second);
    return std::shared_ptr<HealthCheckServiceInterface>(
        object ? static_cast<HealthCheckServiceInterface*>(*object) : nullptr);
  }
  if (!has_default_health) return nullptr;
  auto made = std::make_shared<default_health>();
  to.add(made->service());
  return made;
}

}  // namespace internal

void ServerBuilder::InternalAddPluginFactory(std::unique_ptr<ServerBuilderPlugin> (*create)()) {
  const std::lock_guard lock(internal::changing_factories());
  internal::factories().push_back(create);
}

void EnableDefaultHealthCheckService(bool enable) { internal::has_default_health = enable; }
bool DefaultHealthCheckServiceEnabled() { return internal::has_default_health; }

HealthCheckServiceServerBuilderOption::HealthCheckServiceServerBuilderOption(
    std::unique_ptr<HealthCheckServiceInterface> service)
    : service_(std::move(service)) {}

void HealthCheckServiceServerBuilderOption::UpdateArguments(ChannelArguments* arguments) {
  arguments->SetPointer(kHealthCheckServiceInterfaceArg, service_.release());
}

void HealthCheckServiceServerBuilderOption::UpdatePlugins(
    std::vector<std::unique_ptr<ServerBuilderPlugin>>* /*plugins*/) {}

namespace {

template <class Value>
class argument_option final : public ServerBuilderOption {
 public:
  argument_option(std::string name, Value value) : name_(std::move(name)), value_(std::move(value)) {}
  void UpdateArguments(ChannelArguments* arguments) override {
    if constexpr (std::is_same_v<Value, int>) arguments->SetInt(name_, value_);
    else arguments->SetString(name_, value_);
  }
  void UpdatePlugins(std::vector<std::unique_ptr<ServerBuilderPlugin>>* /*plugins*/) override {}

 private:
  const std::string name_;
  const Value value_;
};

}  // namespace

std::unique_ptr<ServerBuilderOption> MakeChannelArgumentOption(const std::string& name,
                                                               const std::string& value) {
  return std::make_unique<argument_option<std::string>>(name, value);
}
std::unique_ptr<ServerBuilderOption> MakeChannelArgumentOption(const std::string& name, int value) {
  return std::make_unique<argument_option<int>>(name, value);
}

namespace reflection {

std::string ProtoServerReflectionPlugin::name() { return "proto_server_reflection"; }
void ProtoServerReflectionPlugin::InitServer(ServerInitializer* initializer) {
  const auto made = std::make_shared<coracle::reflection_service>();
  initializer->server().core().server().add(
      std::shared_ptr<coracle::service>(made, &static_cast<coracle::service&>(*made)));
}
void ProtoServerReflectionPlugin::Finish(ServerInitializer* /*initializer*/) {}
void ProtoServerReflectionPlugin::ChangeArguments(const std::string& /*name*/, void* /*value*/) {}

void InitProtoReflectionServerBuilderPlugin() { internal::add_once<ProtoServerReflectionPlugin>(); }

}  // namespace reflection

void AddAdminServices(ServerBuilder* builder) {
  builder->SetOption(std::make_unique<internal::admin_services>());
}

namespace channelz::experimental {

void InitChannelzService() { internal::add_once<internal::channelz_plugin>(); }

}  // namespace channelz::experimental
}  // namespace grpc
