// Calls that hang, for tests/runner/debugger_test.py: their handler waits for an event that is never set.
// Prints a line once they hang, and sleeps until it is ended.
#include "base/output_buffer.hpp"
#include "greeter.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/server.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <latch>
#include <string>

namespace {

std::latch handlers(3);

// --8<-- [start:handler]
coracle::event<> stock_counted;  // the defect: no code sets it

coracle::task<> wait_for_stock() { co_await stock_counted; }

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest&) override {
    handlers.count_down();  // one more handler has begun
    co_await wait_for_stock();
    co_return helloworld::HelloReply();
  }
};
// --8<-- [end:handler]

// --8<-- [start:client]
coracle::task<> greet(helloworld::rpc::Greeter::stub greeter) {
  const helloworld::HelloRequest request;
  const auto reply = co_await greeter.SayHello(request);  // without a deadline
  std::puts(reply.status().to_string().c_str());
}
// --8<-- [end:client]

coracle::task<> do_nothing() { co_return; }

coracle::task<> call_unknown(coracle::channel to) {
  const coracle::generic_stub stub(to);
  const coracle::bytes_message request;
  const auto reply = co_await stub.unary("/helloworld.Greeter/Unknown", request);
  std::puts(reply.status().to_string().c_str());
}

// Its variables are what the printers are tried on.
[[gnu::noinline]] void hang() {
  const coracle::status good = coracle::ok;
  const coracle::status bad = coracle::status::not_found("no such movie");
  const coracle::result<int> seven = 7;
  const coracle::result<std::string> name = std::string("ada");
  const coracle::result<int> failed = bad;
  coracle::metadata pairs;
  (void)pairs.add("x-user", "ada");
  (void)pairs.add("x-team-bin", "\x01\x02");
  const coracle::bytes_message message("hello");
  const coracle::bytes_view view = coracle::as_bytes("world");
  coracle::base::output_buffer output;
  output.append(view);
  const coracle::task<> lazy = do_nothing();
  std::puts("the calls hang");
  std::fflush(stdout);
  for (;;) ::pause();
}

}  // namespace

int main() {
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // gdb is no parent of this process
  coracle::runtime runtime(2);
  greeter service;
  coracle::server server(runtime);
  server.add(service);
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
  const coracle::channel channel(runtime, server.in_process());
  const coracle::channel by_tcp(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  for (int i = 0; i < 3; ++i) runtime.spawn_on(runtime.at(0), greet(helloworld::rpc::Greeter::stub(channel)));
  runtime.start();
  handlers.wait();
  // A call that ends, after which the connection is open and idle.
  coracle::sync_wait(runtime, runtime.at(0), call_unknown(by_tcp));
  // A loop that runs another task has come to the end of the handlers' first steps.
  for (std::size_t i = 0; i < runtime.size(); ++i) coracle::sync_wait(runtime, runtime.at(i), do_nothing());
  hang();
}
