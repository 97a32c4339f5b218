// Server and ServerBuilder.
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/server_initializer.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/credentials/auth_processing.hpp"
#include "adapters/grpcpp/src/credentials/credentials_core.hpp"
#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/process/observed_process.hpp"
#include "adapters/grpcpp/src/process/one_process.hpp"
#include "adapters/grpcpp/src/process/process_log.hpp"
#include "adapters/grpcpp/src/server/port_listener.hpp"
#include "adapters/grpcpp/src/server/server_core.hpp"
#include "adapters/grpcpp/src/server/server_metrics.hpp"
#include "adapters/grpcpp/src/server/server_plugins.hpp"
#include "adapters/grpcpp/src/values/arguments.hpp"

#include "coracle/base/log.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace grpc {

namespace internal {
namespace {

bool is_on(const ChannelArguments& arguments, const char* name) {
  const auto found = arguments.values().find(name);
  if (found == arguments.values().end()) return false;
  const int* const on = std::get_if<int>(&found->second);
  return on && *on != 0;
}

handler_pool::limit handlers_of(const ResourceQuota& quota) {
  if (quota.threads() <= 0) return handler_pool::default_limit();
  return {static_cast<std::size_t>(quota.threads())};
}

coracle::server_options options_of(const ChannelArguments& arguments, const ResourceQuota& quota,
                                   std::uint32_t refused, std::shared_ptr<coracle::load_reporter> load) {
  coracle::server_options options;
  // A program that is relinked answers what it answered before, unless an argument says otherwise.
  options.web.grpc_web = false;
  options.web.connect = false;
  options.reuse_port = true;
  options.load = std::move(load);
  apply(arguments, options);
  if (quota.bytes() != 0) options.memory = coracle::memory_quota(quota.bytes());
  for (const auto& [algorithm, e] : {std::pair(GRPC_COMPRESS_DEFLATE, coracle::encoding::deflate),
                                     std::pair(GRPC_COMPRESS_GZIP, coracle::encoding::gzip)}) {
    if (!(refused & (1u << algorithm))) continue;
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(e);
    options.accepted_encodings = coracle::encoding_set::from_bits(options.accepted_encodings.bits() & ~bit);
  }
  return options;
}

// A method that is requested has one server: the calls of another one would wait for requests without end.
void require_free(const char* method, const std::shared_ptr<requested_calls>& known) {
  if (!known || known->is_shut_down()) return;
  throw std::invalid_argument(
      "the calls of " + std::string(method) +
      " are requested from another server: shut that down first, or use another service object");
}

void require_free(const Service& service) {
  for (const auto& method : service.methods())
    if (method) require_free(method->name(), method->requests());
}

// Of the methods; empty if the generic service answers all of them.
std::string_view first_path(const Service& service) {
  if (service.own()) return service.own()->methods().front().path;
  for (const auto& method : service.methods())
    if (method) return method->name();
  return {};
}

void log_second_generic() {
  internal::library_log()
      .in(coracle::log_room::adapters)
      .error("grpc++: a server has one generic service: another one is ignored");
}

}  // namespace

std::atomic<Server::GlobalCallbacks*> global_callbacks{nullptr};
// The program alone makes progress of such a server: handlers do not wait for the thread that takes its events.
bool server_core::may_be_driven_by_queues(const ServerBuilder& from) {
  return !from.queues_.empty() && from.coracle_services_.empty() && !has_callbacks(from) &&
         std::ranges::none_of(from.services_, &Service::has_synchronous_methods);
}

bool server_core::has_callbacks(const ServerBuilder& from) {
  return from.callback_generic_ || std::ranges::any_of(from.services_, &Service::has_callback_methods);
}

coracle::runtime_options server_core::runtime_options_of(driven by, const ServerBuilder& from) {
  const std::size_t loops =
      by == driven::by_queues ? from.queues_.size() : static_cast<std::size_t>(from.loops_);
  if (by == driven::by_runtime) return {.loops = loops, .log = &library_log()};
  return {
      .loops = loops, .backend = coracle::backend_choice::epoll, .log = &library_log(), .own_threads = false};
}

server_core::driven server_core::driven_by(const ServerBuilder& from, const ChannelArguments& arguments) {
  if (may_be_driven_by_queues(from)) return driven::by_queues;
  return has_callbacks(from) && !is_on(arguments, CORACLE_ARG_CALLBACK_THREADS) ? driven::by_leaders
                                                                                : driven::by_runtime;
}

server_core::server_core(const ServerBuilder& from, const ChannelArguments& arguments)
    : driven_(driven_by(from, arguments)),
      callbacks_on_threads_(is_on(arguments, CORACLE_ARG_CALLBACK_THREADS)),
      records_load_(from.records_load_),
      runtime_(runtime_options_of(driven_, from)),
      drivers_(driven_ == driven::by_runtime ? 0 : runtime_.size(), runtime_),
      starters_(handlers_of(from.quota_), from.interceptors_),
      server_(runtime_, options_of(arguments, from.quota_, from.refused_algorithms_,
                                   from.load_ ? from.load_->metrics_->reporter() : nullptr)) {}

void server_core::add(const ServerBuilder& from, const ChannelArguments& arguments) {
  const bool has_methods = !from.services_.empty() || !from.coracle_services_.empty() ||
                           from.async_generic_ || from.callback_generic_ ||
                           std::ranges::any_of(from.plugins_, [](const auto& p) {
                             return p->has_sync_methods() || p->has_async_methods();
                           });
  if (!has_methods && from.queues_.empty())
    throw std::invalid_argument("it has no services, and no completion queue: register a service");
  if (!from.async_generic_ && !from.callback_generic_ &&
      std::ranges::any_of(from.services_, &Service::has_generic_methods))
    throw std::invalid_argument(
        "a method is marked as generic, and there is no generic service: register one");
  if (const auto& log = process_log()) coracle::with_binary_log(server_, log);
  for (const auto& one : process_observers())
    if (one->configure) one->configure(server_);
  for (const auto& configure : from.configure_) configure(server_);
  for (const Service* const service : from.services_) require_free(*service);
  if (from.async_generic_) require_free("the generic service", from.async_generic_->requests());
  for (const Service* const service : from.services_) add(*service);
  if (auto starter = generic_starter(from)) {
    generic_ = std::make_unique<hosted_generic>(std::move(starter), is_on(arguments, CORACLE_ARG_WEB),
                                                records_load_);
    server_.set_fallback(*generic_);
  }
  for (coracle::service* const service : from.coracle_services_) server_.add(*service);
  health_ = add_health(server_, arguments);
  std::shared_ptr<AuthMetadataProcessor> processor;
  for (const auto& port : from.ports_) {
    if (!port.credentials || !port.credentials->core().processor) continue;
    if (processor && processor != port.credentials->core().processor)
      throw std::invalid_argument("the ports of a server have different AuthMetadataProcessors");
    processor = port.credentials->core().processor;
  }
  if (processor) server_.add_interceptor(std::make_shared<auth_processing>(processor));
}

bool server_core::add(const Service& service, std::shared_ptr<Service> keep) {
  if (started_) return false;
  require_free(service);
  // A plugin adds what needs a loop that runs without the program.
  if (driven_ == driven::by_queues && (service.has_synchronous_methods() || service.has_callback_methods()))
    driven_ = driven::by_leaders;
  if (service.own()) server_.add(*service.own());
  else
    server_.add(std::make_shared<hosted_service>(
        service, records_load_, [this](RpcServiceMethod& method) { return starter_of(method); }));
  if (keep) kept_.push_back(std::move(keep));
  if (const std::string_view path = first_path(service); !path.empty())  // "/package.Service/Method"
    names_.emplace_back(path.substr(1, path.rfind('/') - 1));
  return true;
}

std::shared_ptr<call_starter> server_core::starter_of(RpcServiceMethod& method) {
  using api = RpcServiceMethod::ApiType;
  if (method.api_type() != api::ASYNC && method.api_type() != api::RAW) return starters_.starter_of(method);
  const auto& calls = requested_.emplace_back(
      std::make_shared<requested_calls>(starters_.interceptors_of(method), runtime_.size()));
  method.set_requests(calls);
  return calls;
}

std::shared_ptr<call_starter> server_core::generic_starter(const ServerBuilder& from) {
  if (from.async_generic_) {
    const auto& calls = requested_.emplace_back(std::make_shared<requested_calls>(
        starters_.interceptors_of(RpcMethod("", RpcMethod::BIDI_STREAMING)), runtime_.size()));
    from.async_generic_->set_requests(calls);
    return calls;
  }
  // Interceptors see the calls of unknown methods, too, which end with UNIMPLEMENTED.
  if (!from.callback_generic_ && !from.interceptors_->empty()) {
    static auto& unimplemented = *new CallbackGenericService;
    return std::make_shared<generic_callback_starter>(
        unimplemented, starters_.callbacks_of("unknown"),
        starters_.interceptors_of(RpcMethod("unknown", RpcMethod::BIDI_STREAMING)), false);
  }
  if (!from.callback_generic_) return nullptr;
  return std::make_shared<generic_callback_starter>(
      *from.callback_generic_, starters_.callbacks_of("the generic service"),
      starters_.interceptors_of(RpcMethod("", RpcMethod::BIDI_STREAMING)));
}

server_core::~server_core() {
  bool ended = false;
  {
    const std::lock_guard lock(changing_);
    ended = phase_ == phase::ended;
  }
  if (!ended) shut_down(coracle::duration::max());
  starters_.callbacks().stop();
}

server_core::loop_drivers::loop_drivers(std::size_t loops, coracle::runtime& of) {
  for (std::size_t i = 0; i < loops; ++i) push_back(std::make_shared<queue_driver>(of.at(i)));
}

server_core::loop_drivers::~loop_drivers() {
  for (const auto& each : *this) each->detach();
}

namespace {

// "dns:///host:port" is the name of a target, which programs pass here, too.
std::string_view without_scheme(std::string_view address) {
  for (const std::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"})
    if (address.starts_with(scheme)) return address.substr(scheme.size());
  return address;
}

// The addresses of "host:port", if the host is a name.
std::vector<coracle::net::address> resolved(std::string_view text) {
  std::vector<coracle::net::address> all;
  const auto colon = text.rfind(':');
  if (colon == text.npos || text.starts_with("systemd:") || coracle::net::parse_addresses(text)) return all;
  const std::string host(text.substr(0, colon));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (host.empty() || ::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return all;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    char name[NI_MAXHOST];
    if (::getnameinfo(a->ai_addr, a->ai_addrlen, name, sizeof name, nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    const std::string of_host = a->ai_family == AF_INET6 ? "[" + std::string(name) + "]" : name;
    const auto parsed = coracle::net::address::parse(of_host + std::string(text.substr(colon)));
    if (parsed) all.push_back(*parsed);
  }
  ::freeaddrinfo(found);
  return all;
}

// The original removes a socket that is at the path, whether or not a server listens on it.
void make_way(std::string_view text) {
  constexpr std::string_view scheme = "unix:";
  if (!text.starts_with(scheme)) return;
  text.remove_prefix(scheme.size());
  if (text.starts_with("//")) text.remove_prefix(2);
  const std::string path(text);
  struct stat file{};
  if (::stat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) ::unlink(path.c_str());
}

// The port, and 1 for a UNIX socket. `listener` may be null.
coracle::result<int> listen_on(coracle::server& by, port_listener* listener, std::string_view address,
                               const coracle::server_credentials& credentials) {
  const auto listen = [&](std::string_view at) {
    return listener ? listener->listen(at, credentials) : by.listen(at, credentials);
  };
  const std::string_view text = without_scheme(address);
  make_way(text);
  const std::vector<coracle::net::address> all = resolved(text);
  coracle::status listening;
  int port = 0;  // the same for all
  if (all.empty()) {
    listening = listen(text);
  } else {
    for (const auto& one : all) {
      listening =
          listen((one.port() == 0 ? one.with_port(static_cast<std::uint16_t>(port)) : one).to_string());
      if (listening.ok()) port = by.addresses().back().port();
    }
    if (port != 0) return port;
  }
  if (!listening.ok()) return listening;
  const coracle::net::address last = by.addresses().back();
  return last.is_unix() ? 1 : last.port();
}

}  // namespace

bool server_core::start(const ServerBuilder& from, Server& of) {
  started_ = true;
  if (driven_ == driven::by_leaders && !callbacks_on_threads_) starters_.callbacks().lead(drivers_);
  else starters_.callbacks().run_on_threads();
  const auto listener = from.make_listener_ ? from.make_listener_(server_) : nullptr;
  for (const auto& port : from.ports_) {
    const coracle::result<int> listening =
        port.credentials ? listen_on(server_, listener.get(), port.address, port.credentials->core().made)
                         : coracle::status::invalid_argument("the credentials are a null pointer");
    if (!listening) {
      internal::library_log()
          .in(coracle::log_room::adapters)
          .error("grpc++: the server cannot listen on ", port.address, ": ", listening.status());
      return false;
    }
    const int chosen = *listening;
    if (port.selected) *port.selected = chosen;
    if (auto* const callbacks = global_callbacks.load())
      callbacks->AddPort(&of, port.address, port.credentials.get(), chosen);
  }
  server_.start();
  if (driven_ != driven::by_queues) return true;
  for (std::size_t i = 0; i < drivers_.size(); ++i) from.queues_[i]->set_driver(drivers_[i]);
  return true;
}

void server_core::shut_down(coracle::duration grace) {
  coracle::coro::require_no_executor();
  {
    std::unique_lock lock(changing_);
    if (phase_ != phase::serving) {
      changed_.wait(lock, [this] { return phase_ == phase::ended; });
      return;
    }
    phase_ = phase::draining;
  }
  for (const auto& calls : requested_) calls->shut_down();
  for (const auto& driver : drivers_) driver->leave_to_watch();
  coracle::sync_wait(runtime_, server_.drain(grace));
  starters_.stop();
  const std::lock_guard lock(changing_);
  phase_ = phase::ended;
  changed_.notify_all();
}

void server_core::wait() {
  std::unique_lock lock(changing_);
  changed_.wait(lock, [this] { return phase_ == phase::ended; });
}

}  // namespace internal

Server::Server(std::unique_ptr<internal::server_core> core) : core_(std::move(core)) {}
Server::~Server() = default;

void Server::Wait() { core_->wait(); }

void Server::ShutdownInternal(gpr_timespec deadline) {
  const gpr_timespec left = gpr_convert_clock_type(deadline, GPR_TIMESPAN);
  constexpr std::int64_t most_s = std::int64_t{1} << 32;
  if (left.tv_sec > most_s) return core_->shut_down(coracle::duration::max());
  const coracle::duration grace =
      std::chrono::seconds(std::max<std::int64_t>(left.tv_sec, -1)) + coracle::duration(left.tv_nsec);
  core_->shut_down(std::max(grace, coracle::duration::zero()));
}

std::unique_ptr<ServerCompletionQueue> ServerBuilder::AddCompletionQueue(bool is_frequently_polled) {
  std::unique_ptr<ServerCompletionQueue> made(new ServerCompletionQueue(is_frequently_polled));
  queues_.push_back(made->core());
  return made;
}

std::shared_ptr<Channel> Server::InProcessChannel(const ChannelArguments& arguments) {
  ChannelArguments all = arguments;
  all.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "inproc");  // unless the program has set another one
  return std::make_shared<Channel>(
      std::make_unique<internal::channel_core>(core_->server().in_process(), all));
}

std::shared_ptr<Channel> Server::experimental_type::InProcessChannelWithInterceptors(
    const ChannelArguments& arguments,
    std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptor_creators) {
  auto made = of_->InProcessChannel(arguments);
  made->core()->set_interceptors(std::move(interceptor_creators));
  return made;
}

void Server::SetGlobalCallbacks(GlobalCallbacks* callbacks) { internal::global_callbacks = callbacks; }

HealthCheckServiceInterface* Server::GetHealthCheckService() const { return core_->health(); }

bool ServerInitializer::RegisterService(std::shared_ptr<Service> service) {
  const Service& added = *service;
  return server_->core().add(added, std::move(service));
}

const std::vector<std::string>* ServerInitializer::GetServiceList() {
  return &server_->core().service_names();
}

ServerBuilder::ServerBuilder() : plugins_(internal::new_plugins()) {}
ServerBuilder::~ServerBuilder() = default;

ServerBuilder& ServerBuilder::RegisterService(Service* service) {
  services_.push_back(service);
  return *this;
}

ServerBuilder& ServerBuilder::RegisterAsyncGenericService(AsyncGenericService* service) {
  if (async_generic_ || callback_generic_) internal::log_second_generic();
  else async_generic_ = service;
  return *this;
}

ServerBuilder& ServerBuilder::RegisterCallbackGenericService(CallbackGenericService* service) {
  if (async_generic_ || callback_generic_) internal::log_second_generic();
  else callback_generic_ = service;
  return *this;
}

ServerBuilder& ServerBuilder::AddListeningPort(const std::string& address,
                                               std::shared_ptr<ServerCredentials> credentials,
                                               int* selected_port) {
  ports_.push_back({address, std::move(credentials), selected_port});
  return *this;
}

ServerBuilder& ServerBuilder::SetCompressionAlgorithmSupportStatus(grpc_compression_algorithm algorithm,
                                                                   bool enabled) {
  const std::uint32_t bit = 1u << algorithm;
  refused_algorithms_ = enabled ? refused_algorithms_ & ~bit : refused_algorithms_ | bit;
  return *this;
}

ServerBuilder& ServerBuilder::SetSyncServerOption(SyncServerOption option, int value) {
  if (option == NUM_CQS) loops_ = std::max(value, 1);
  return *this;
}

ChannelArguments ServerBuilder::BuildChannelArgs() {
  ChannelArguments arguments;
  for (const auto& option : options_) {
    option->UpdateArguments(&arguments);
    option->UpdatePlugins(&plugins_);
  }
  arguments.SetAll(arguments_);
  for (const auto& plugin : plugins_) {
    plugin->UpdateServerBuilder(this);
    plugin->UpdateChannelArguments(&arguments);
  }
  if (auto* const callbacks = internal::global_callbacks.load()) callbacks->UpdateArguments(&arguments);
  return arguments;
}

std::unique_ptr<Server> ServerBuilder::BuildAndStart() {
  internal::require_one_library();
  try {
    const ChannelArguments arguments = BuildChannelArgs();
    std::erase_if(queues_, [](const auto& queue) { return queue->is_abandoned(); });
    auto core = std::make_unique<internal::server_core>(*this, arguments);
    core->add(*this, arguments);
    auto server = std::make_unique<Server>(std::move(core));
    ServerInitializer initializer(server.get());
    for (const auto& plugin : plugins_) plugin->InitServer(&initializer);
    if (auto* const callbacks = internal::global_callbacks.load()) callbacks->PreServerStart(server.get());
    if (!server->core().start(*this, *server)) return nullptr;
    for (const auto& plugin : plugins_) plugin->Finish(&initializer);
    return server;
  } catch (const std::exception& e) {
    internal::library_log()
        .in(coracle::log_room::adapters)
        .error("grpc++: the server cannot be made: ", e.what());
    return nullptr;
  }
}

}  // namespace grpc
