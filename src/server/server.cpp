#include "coracle/server/server.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/block_on.hpp"
#include "net/duplex.hpp"
#include "net/memory_duplex.hpp"
#include "rpc/message_format.hpp"
#include "server/http/openapi_route.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <cstdio>
#include <mutex>
#include <utility>

namespace coracle {

namespace {

class in_process_connector final : public transport::connector {
 public:
  in_process_connector(std::shared_ptr<server_internal::server_state> to,
                       std::shared_ptr<const auth_context> client)
      : server_(std::move(to)), client_(std::move(client)) {}

  task<result<std::unique_ptr<net::duplex>>> make_duplex(loop& on) override {
    const std::size_t i = on.index() % server_->size();
    net::memory_pair_options options;
    options.auth_of_first = client_;
    auto [here, there] = net::make_memory_duplex_pair(on, server_->loop_of(i), options);
    std::atomic<std::size_t>& load = server_->load_of(server_->loop_of(i));
    auto held = std::make_shared<std::unique_ptr<net::duplex>>(std::move(there));
    bool taken = false;
    ++load;
    const bool posted = base::if_memory_allows([&] {
      taken = server_->with_shard(i, [held, &load](server_internal::shard* s) {
        // Without memory, the end of this side tells the client.
        const bool adopted = base::if_memory_allows([&] {
          if (s) s->adopt(std::move(*held));
          else --load;
        });
        if (!adopted) --load;
      });
    });
    if (taken) co_return std::move(here);
    --load;
    co_return posted ? status::unavailable("the in-process server was destroyed") : rpc::out_of_memory();
  }
  [[nodiscard]] std::string authority() const override { return "in-process"; }
  [[nodiscard]] bool stays_in_process() const noexcept override { return true; }

 private:
  std::shared_ptr<server_internal::server_state> server_;
  std::shared_ptr<const auth_context> client_;
};

}  // namespace

server::server(const server_options& options)
    : own_(std::make_unique<runtime>()),
      state_(std::make_shared<server_internal::server_state>(*own_, options)) {
  state_->make_shards();
}

server::server(runtime& on, const server_options& options)
    : state_(std::make_shared<server_internal::server_state>(on, options)) {
  state_->make_shards();
}

server::~server() {
  CORACLE_ASSERT(!coro::executor::current(),
                 "a server was destroyed by a thread that drives a loop: destroy it where no loop runs");
  state_->close();
}

void server::add(service& s) {
  {
    const std::lock_guard lock(state_->setting_up);
    CORACLE_ASSERT(!state_->listening, "add_service() after listen(): add every service before");
    state_->http.check(s);
    state_->routes.add(s);
  }
  s.added_to(state_->routes);  // user code, which may call the server
}

void server::add(std::shared_ptr<service> s) {
  add(*s);
  const std::lock_guard lock(state_->setting_up);
  state_->kept_services.push_back(std::move(s));
}

void server::set_fallback(generic_service& s) {
  const std::lock_guard lock(state_->setting_up);
  CORACLE_ASSERT(!state_->listening, "set_fallback() after listen(): call it before");
  CORACLE_ASSERT(!state_->routes.fallback(),
                 "set_fallback() was called twice: a server has one fallback service");
  state_->routes.set_fallback(s);
}

void server::add_interceptor(std::shared_ptr<server_interceptor> i) {
  CORACLE_ASSERT(i, "add_interceptor() of a null pointer");
  const std::lock_guard lock(state_->setting_up);
  CORACLE_ASSERT(!state_->listening, "add every interceptor before listen()");
  state_->interceptors.push_back(std::move(i));
  state_->routes.report_unknown_methods();
}

void server::add_observer(std::shared_ptr<server_observer> o) {
  CORACLE_REQUIRE(o, "add_observer() of a null pointer");
  const std::lock_guard lock(state_->setting_up);
  CORACLE_REQUIRE(!state_->listening, "add_observer() after listen(): call it before");
  state_->add_observer(std::move(o));
}

status server::add_rest(const rest_options& options) {
  const std::lock_guard lock(state_->setting_up);
  CORACLE_ASSERT(!state_->listening, "add_rest() after listen(): call it before");
  return state_->http.build_rest(state_->routes, options);
}

void server::add_http(http_route route) {
  const std::lock_guard lock(state_->setting_up);
  CORACLE_REQUIRE(!state_->listening, "add_http() after listen(): call it before");
  state_->http.add(std::move(route), state_->routes);
}

void server::add_http(std::string_view method, std::string_view path, http_handler handler) {
  add_http(http_route(method, path, std::move(handler)));
}

status server::add_openapi(const openapi_options& options, std::string_view path) {
  const std::lock_guard lock(state_->setting_up);
  CORACLE_REQUIRE(!state_->listening, "add_openapi() after listen(): call it before");
  result<http_route> route = server_internal::openapi_route(*state_, options, path);
  if (!route.ok()) return route.status();
  state_->http.add(*std::move(route), state_->routes);
  return {};
}

status server::listen(std::string_view address, server_credentials credentials) {
  return state_->listen(address, credentials);
}

std::uint16_t server::port() const noexcept { return state_->port; }

std::vector<net::address> server::addresses() const {
  const std::lock_guard lock(state_->setting_up);
  return state_->addresses;
}

status server::adopt(int descriptor, server_credentials credentials) {
  return state_->adopt(descriptor, credentials);
}

void server::reload(const server_options& options) { state_->reload(options); }

void server::reload_on_hangup(std::function<server_options()> read) {
  CORACLE_REQUIRE(read, "reload_on_hangup() without a function");
  state_->set_reader(std::move(read));
}

int server::run() {
  if (const status reason = state_->begin_to_run(); !reason.ok()) {
    std::fprintf(stderr, "coracle: %s\n", std::string(reason.message()).c_str());
    return 1;
  }
  runtime& rt = state_->owner;
  rt.spawn_on(rt.at(0), state_->serve_until_stopped());
  rt.run();
  const status failed = state_->handover_failure();
  if (failed.ok()) return 0;
  std::fprintf(stderr, "coracle: %s\n", std::string(failed.message()).c_str());
  return 1;
}

void server::start() {
  state_->restore_signals();
  state_->begin_handover();
  state_->owner.start();
}

void server::hand_over() {
  CORACLE_REQUIRE(state_->start_successor(),
                  "hand_over() needs server_options::handover and a listen() before");
}

void server::stop() noexcept { state_->request_stop(); }
task<> server::drain(duration grace) { return state_->drain(grace); }

task<server_snapshot> server::snapshot() { return state_->snapshot(); }

std::shared_ptr<transport::connector> server::in_process(std::shared_ptr<const auth_context> client) {
  return std::make_shared<in_process_connector>(state_, std::move(client));
}

void server::require_loopback(std::string reason) {
  const std::lock_guard lock(state_->setting_up);
  CORACLE_ASSERT(!state_->listening, "require_loopback() after listen(): call it before");
  state_->loopback_reason = std::move(reason);
}

runtime& server::owner() const noexcept { return state_->owner; }

}  // namespace coracle
