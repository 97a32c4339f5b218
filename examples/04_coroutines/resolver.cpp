// Names to addresses, with a limit on the time, and what an error looks like. Without arguments it resolves localhost,
// which needs no name server.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using addresses = std::vector<coracle::net::address>;

coracle::task<> show(coracle::net::resolver& names, std::string name) {
  const coracle::result<addresses> found = co_await coracle::with_timeout(5s, names.resolve(name, 443));
  if (!found) {
    std::cout << name << ": " << found.status() << "\n";
    co_return;
  }
  for (const coracle::net::address& a : *found) std::cout << name << ": " << a.to_string() << "\n";
}

coracle::task<> resolve_without_servers() {
  coracle::net::resolver names;
  const coracle::result<addresses> here = co_await names.resolve("localhost", 80);
  check(here && here->front().to_string().ends_with(":80"), "localhost is an address of this machine");
  const coracle::result<addresses> literal = co_await names.resolve("192.0.2.1", 80);
  check(literal && literal->size() == 1, "a literal is its own address");
  const coracle::result<addresses> wrong = co_await names.resolve("no name at all", 80);
  check(wrong.status().code() == coracle::status_code::invalid_argument, "what cannot be a name is refused");
}

coracle::task<> resolve_all(std::vector<std::string> given) {
  co_await resolve_without_servers();
  coracle::net::resolver names;
  coracle::scope queries;  // all at the same time
  for (std::string& name : given) queries.spawn(show(names, std::move(name)));
  co_await queries.join();
}

int main(int argc, char** argv) {
  coracle::runtime rt;
  coracle::sync_wait(rt, resolve_all(std::vector<std::string>(argv + 1, argv + argc)));
}
