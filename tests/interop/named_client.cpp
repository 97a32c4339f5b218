// named_client file TARGET
// named_client kubernetes TARGET API_SERVER TOKEN_FILE [CA_FILE [ZONE]]
// named_client consul TARGET AGENT [TOKEN]
// named_client etcd TARGET ETCD [USER PASSWORD]
// named_client dns TARGET
// named_client register_in_consul NAME AGENT [TOKEN]
// named_client register NAME ETCD [USER PASSWORD]
//
// Three servers, and a client that finds them by a name, for naming_test.py. It says the ports of the
// servers, then, whenever that changes, which of them answer calls. Or
// one server that registers itself.
#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/naming/with_consul.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/naming/with_file_names.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/server.hpp"
#include "coracle/tls.hpp"

#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

class named final : public echo::rpc::Echo::service {
 public:
  std::string name;

 private:
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text&) override {
    echo::Text reply;
    reply.set_text(name);
    return reply;
  }
};

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

coracle::task<> call(coracle::channel to) {
  const echo::rpc::Echo::stub stub(to);
  std::deque<std::string> last;
  std::string said;
  while (true) {
    const echo::Text request;
    const auto reply = co_await stub.Say(request, coracle::within(2s));
    last.push_back(reply.ok() ? reply->text() : "error: " + reply.status().to_string());
    if (last.size() > 9) last.pop_front();
    const std::set<std::string> names(last.begin(), last.end());
    std::string text = "answers:";
    for (const std::string& name : names) text.append(" ").append(name);
    if (text != said) say(text);
    said = std::move(text);
    co_await coracle::sleep_for(20ms);
  }
}

void from_file(coracle::channel_options& options) {
  // --8<-- [start:file]
  coracle::with_file_names(options);
  // --8<-- [end:file]
}

void from_kubernetes(coracle::channel_options& options) {
  // --8<-- [start:kubernetes]
  coracle::tls::client_options api;
  api.cas = {coracle::tls::pem_source::file(coracle::kubernetes_ca_file)};
  coracle::with_kubernetes(options, coracle::kubernetes_options(api));
  // --8<-- [end:kubernetes]
}

// As above, with a stand-in in place of the API server of a pod.
void from_kubernetes(coracle::channel_options& options, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return from_kubernetes(options);
  coracle::channel_credentials credentials = coracle::insecure();
  if (arguments.size() > 2 && !arguments[2].empty()) {
    coracle::tls::client_options api;
    api.cas = {coracle::tls::pem_source::file(arguments[2])};
    credentials = api;
  }
  coracle::kubernetes_options of(credentials);
  of.api_server = arguments[0];
  of.token_file = arguments[1];
  if (arguments.size() > 3) of.zone = arguments[3];
  coracle::with_kubernetes(options, of);
}

void from_consul(coracle::channel_options& options, const std::vector<std::string>& arguments) {
  const std::string& agent = arguments.at(0);
  const std::string token = arguments.size() > 1 ? arguments[1] : std::string();
  // --8<-- [start:consul]
  coracle::consul_options consul(agent, coracle::insecure());
  consul.token = token;
  coracle::with_consul(options, consul);
  // --8<-- [end:consul]
}

void from_dns(coracle::channel_options& options) {
  // --8<-- [start:dns]
  options.dns_service_config = true;
  // --8<-- [end:dns]
  options.resolve_pause = 100ms;
}

coracle::etcd_options etcd_of(const std::vector<std::string>& arguments) {
  coracle::etcd_options etcd(arguments.at(0), coracle::insecure());
  if (arguments.size() > 2) {
    const std::string& user = arguments[1];
    const std::string& password = arguments[2];
    // --8<-- [start:password]
    etcd.user = user;
    etcd.password = password;
    // --8<-- [end:password]
  }
  return etcd;
}

void from_etcd(coracle::channel_options& options, const std::vector<std::string>& arguments) {
  if (arguments.size() > 1) return coracle::with_etcd(options, etcd_of(arguments));
  const std::string& etcd = arguments.at(0);
  // --8<-- [start:etcd]
  coracle::with_etcd(options, {etcd, coracle::insecure()});
  // --8<-- [end:etcd]
}

int register_in_consul(const std::string& name, const std::vector<std::string>& arguments) {
  named service;
  coracle::consul_options consul(arguments.at(0), coracle::insecure());
  if (arguments.size() > 1) consul.token = arguments[1];
  // --8<-- [start:register_in_consul]
  coracle::consul_registration registration(consul);
  coracle::server server;
  server.add(service);
  server.add(registration);
  const coracle::status listens = server.listen("127.0.0.1:0", coracle::insecure());
  if (listens.ok()) {
    coracle::client::endpoint self(server.addresses().front(),
                                   3);  // by which clients reach it, and its weight
    self.attribute("zone", "a");
    registration.announce(server.owner(), name, self, {"grpc"});
  }
  // --8<-- [end:register_in_consul]
  say("ports: " + std::to_string(server.port()) + " 0 0");
  return server.run();
}

int register_in_etcd(const std::string& name, const std::vector<std::string>& arguments) {
  named service;
  // --8<-- [start:register]
  coracle::server_options options;
  options.leave_time = 1s;  // clients stop sending calls meanwhile
  coracle::etcd_registration registration(etcd_of(arguments));
  coracle::server server(options);
  server.add(service);
  server.add(registration);
  const coracle::status listens = server.listen("127.0.0.1:0", coracle::insecure());
  const std::string address = "127.0.0.1:" + std::to_string(server.port());  // by which clients reach it
  if (listens.ok()) registration.announce(server.owner(), name, address);
  // --8<-- [end:register]
  service.name = std::to_string(server.port());
  say("ports: " + service.name + " 0 0");
  return server.run();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return 2;
  const std::string kind = arguments[0];
  const std::string target = arguments[1];
  arguments.erase(arguments.begin(), arguments.begin() + 2);

  if (kind == "register_in_consul") return register_in_consul(target, arguments);
  if (kind == "register") return register_in_etcd(target, arguments);
  coracle::runtime runtime;
  std::vector<std::unique_ptr<named>> services;
  std::vector<std::unique_ptr<coracle::server>> servers;
  std::string ports = "ports:";
  for (int i = 0; i < 3; ++i) {
    services.push_back(std::make_unique<named>());
    servers.push_back(std::make_unique<coracle::server>(runtime));
    servers.back()->add(*services.back());
    if (!servers.back()->listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
    services.back()->name = std::to_string(servers.back()->port());
    ports.append(" ").append(services.back()->name);
  }
  say(ports);
  coracle::channel_options options;
  options.balance = coracle::balancing::round_robin();
  if (kind == "kubernetes") from_kubernetes(options, arguments);
  else if (kind == "consul") from_consul(options, arguments);
  else if (kind == "dns") from_dns(options);
  else if (kind == "etcd") from_etcd(options, arguments);
  else from_file(options);
  runtime.spawn(call(coracle::channel(runtime, target, coracle::insecure(), options)));
  return servers.front()->run();
}
