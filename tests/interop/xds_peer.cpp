// xds_peer server
// xds_peer client
// xds_peer xds_server ADDRESS
// xds_peer authorized ADDRESS POLICY CERTIFICATE KEY CA
//
// For xds_test.py, xds_counts_test.py, xds_servers_test.py, xds_envoy_test.py and
// xds_envoy_security_test.py. The server answers each call of any method with its port; with the metadata
// "fail", a status code, it fails each call, with "attempts" beside it that many attempts of one, and with
// "at", a port, only if that is its own; "late" is a time in milliseconds that it takes, and with "silent"
// the reply is empty. With "authority", it fails calls that have another one with FAILED_PRECONDITION. The
// xds_server is one that a control plane configures. The one that is authorized follows the file of an
// authorization policy, and its clients may have certificates; see authorization_test.py. The client reads
// a line "COUNT TARGET PATH [NAME=VALUE]..." for calls that it makes one after the other, and answers with
// "ANSWER=COUNT..."; an answer is a reply, or the name of the status code. Calls of the count 0 go on until
// the next line. ":timed=MS" is no metadata: each answer is followed by "/" and the milliseconds that its
// call took, rounded down to a multiple of MS. Nor is ":shown=NAME": a "/" and that header of the response,
// without spaces. With ":together=1" the calls begin at the same time. Another target is that of another
// channel, which takes the place of the one before. The clients of other implementations in peers/ do the
// same.
#include "../../examples/command_line.hpp"
#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/server/authorization_policy.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/tls/server_options.hpp"
#include "coracle/xds/credentials.hpp"
#include "coracle/xds/xds.hpp"
#include "coracle/xds/xds_server.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace {

using namespace coracle;
using namespace std::chrono_literals;

int number_in(const metadata& of, std::string_view name) {
  const auto text = of.find(name);
  return text ? std::atoi(std::string(*text).c_str()) : 0;
}

// As gRPC counts them, or Envoy.
int attempts_before(const metadata& of) {
  const int with_this_one = number_in(of, "x-envoy-attempt-count");
  return with_this_one > 0 ? with_this_one - 1 : number_in(of, "grpc-previous-rpc-attempts");
}

class named_by_port final : public generic_service {
 public:
  std::string name;

  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    bytes_message request;
    while (co_await requests.read(request)) {
    }
    const int code = number_in(context.metadata(), "fail");
    const int attempts = number_in(context.metadata(), "attempts");
    const auto at = context.metadata().find("at");
    const int late = number_in(context.metadata(), "late");
    const auto wanted = context.metadata().find("authority");
    if (wanted && *wanted != context.authority())
      co_return status::failed_precondition("the authority is " + std::string(context.authority()));
    if (late > 0) co_await sleep_for(late * 1ms);
    if (code != 0 && (!at || *at == name) &&
        (attempts == 0 || attempts_before(context.metadata()) < attempts))
      co_return status(static_cast<status_code>(code), "as the client wants");
    const bytes_message reply(context.metadata().find("silent") ? std::string() : name);
    co_yield reply;
    co_return ok;
  }
};

bool has_input() {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 0) != 0;
}

std::string without_spaces(std::string_view text) {
  std::string kept(text);
  std::erase(kept, ' ');
  return kept;
}

// What the words of a line say of its calls.
struct plan {
  std::string path;
  call_options options = within(20s);
  duration step{};
  std::string shown;
  bool together = false;
};

plan plan_of(std::istringstream words) {
  plan made;
  words >> made.path;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == ":timed") made.step = std::atoi(value.c_str()) * 1ms;
    else if (name == ":shown") made.shown = value;
    else if (name == ":together") made.together = true;
    else made.options.metadata.add(name, value);
  }
  return made;
}

using counts = std::map<std::string, std::size_t>;

// The stub, the plan and the counts must outlive it.
task<> count_answer(const generic_stub& stub, const plan& of, counts& answers) {
  const bytes_message nothing;
  const time_point begin = loop::current()->now();
  auto call = stub.unary(of.path.c_str(), nothing, of.options);
  const auto reply = co_await call;
  const duration taken = loop::current()->now() - begin;
  if (!reply.ok()) std::cerr << reply.status().to_string() << std::endl;
  std::string answer = reply.ok() ? reply->bytes() : std::string(name_of(reply.status().code()));
  if (of.step > 0ms) answer.append("/").append(std::to_string(taken / of.step * of.step / 1ms));
  if (!of.shown.empty())
    answer.append("/").append(without_spaces(call.initial_metadata().find(of.shown).value_or("")));
  ++answers[answer];
}

task<std::string> calls(const generic_stub& stub, std::size_t count, plan of) {
  counts answers;
  if (of.together) {
    scope all{co_await coro::this_environment()};
    for (std::size_t i = 0; i < count; ++i) all.spawn(count_answer(stub, of, answers));
    co_await all.join();
  } else {
    for (std::size_t i = 0; count == 0 ? !has_input() : i < count; ++i)
      co_await count_answer(stub, of, answers);
  }
  std::string text;
  for (const auto& [answer, times] : answers)
    text.append(text.empty() ? "" : " ").append(answer).append("=").append(std::to_string(times));
  co_return text;
}

int serve() {
  named_by_port service;
  server here;
  here.set_fallback(service);
  here.listen("127.0.0.1:0", insecure()).throw_if_error();
  service.name = std::to_string(here.port());
  std::cout << "listening on 127.0.0.1:" << service.name << std::endl;
  return here.run();
}

int serve_as_configured(const std::string& address) {
  named_by_port service;
  server here;
  here.set_fallback(service);
  xds_server mesh(here);
  mesh.listen(address, xds_server_credentials(insecure())).throw_if_error();
  service.name = std::to_string(here.port());
  std::cout << "listening on " << address.substr(0, address.rfind(':') + 1) << service.name << std::endl;
  return here.run();
}

int serve_by_policy(std::span<const std::string> words) {
  tls::server_options credentials;
  credentials.certificates = {tls::key_pair::files(words[2], words[3])};
  credentials.client_cas = {tls::pem_source::file(words[4])};
  credentials.clients = tls::client_certificates::requested;
  named_by_port service;
  server here;
  here.set_fallback(service);
  authorization_file_options options;
  options.interval = authorization_file_options::interval_min;
  authorize_by_file(here, words[1], options).throw_if_error();
  here.listen(words[0], credentials).throw_if_error();
  service.name = std::to_string(here.port());
  std::cout << "listening on 127.0.0.1:" << service.name << std::endl;
  return here.run();
}

int call() {
  runtime rt;
  channel_options options;
  options.add_resolver("xds", xds_resolver());
  std::optional<generic_stub> stub;
  std::string target;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::size_t count = 0;
    std::string wanted;
    words >> count >> wanted;
    if (wanted != target) {
      stub.reset();
      stub.emplace(channel(rt, wanted, xds_credentials(insecure()), options));
      target = wanted;
    }
    std::cout << sync_wait(rt, calls(*stub, count, plan_of(std::move(words)))) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("xds_peer", [&] {
    const examples::command_line line(argc, argv, "ROLE [ADDRESS] [POLICY] [CERTIFICATE] [KEY] [CA]");
    if (line.words().size() == 6) return serve_by_policy(std::span(line.words()).subspan(1));
    if (line.words().size() == 2) return serve_as_configured(line.words()[1]);
    return line.words()[0] == "server" ? serve() : call();
  });
}
