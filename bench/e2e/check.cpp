// bench_check ADDRESS [hold] [orders] [small] [ca=FILE]: checks the replies of a server, byte by byte and
// with status OK. A benchmark of wrong replies is meaningless, and load generators check only the status of
// HTTP. hold, orders: idle.Idle/Hold, orders.Orders/Echo as well. small: no message that needs several
// frames. ca: TLS, with a server that has a certificate of this CA.
#include "helloworld.coracle.hpp"
#include "idle.coracle.hpp"
#include "orders.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/tls/client_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using std::chrono_literals::operator""s;

// Every byte differs from its neighbours, so that a shifted or repeated piece is detected.
std::string text_of(std::size_t n) {
  std::string text(n, ' ');
  for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>('!' + (i * 7 + i / 90) % 90);
  return text;
}

void expect_same(std::string_view what, const std::string& sent, const std::string& received) {
  if (sent == received) return;
  throw std::runtime_error(std::string(what) + ": " + std::to_string(sent.size()) +
                           " bytes were sent, and not the same came back");
}

void check_echo(coracle::channel& channel, bool small) {
  const helloworld::rpc::Greeter::stub greeter(channel);
  for (const std::size_t n : {0, 1, 100, 100, 5000, 70000}) {
    if (small && n > 10000) break;
    helloworld::HelloRequest request;
    request.set_name(text_of(n));
    const auto reply = coracle::sync_wait(greeter.SayHello(request, coracle::within(20s)));
    expect_same("SayHello", request.SerializeAsString(), reply.value().SerializeAsString());
  }
}

void check_orders(coracle::channel& channel) {
  const orders::rpc::Orders::stub stub(channel);
  orders::Order order;
  order.set_id(text_of(20));
  order.mutable_customer()->add_addresses()->set_latitude(52.5);
  for (int i = 0; i < 3; ++i) {
    orders::Item& item = *order.add_items();
    item.set_title(text_of(30));
    item.add_warehouses(-i);
  }
  order.mutable_payment()->set_kind(orders::Payment::CARD);
  const auto reply = coracle::sync_wait(stub.Echo(order, coracle::within(20s)));
  expect_same("Echo", order.SerializeAsString(), reply.value().SerializeAsString());
}

coracle::task<> hold(coracle::channel& channel) {
  const idle::rpc::Idle::stub stub(channel);
  auto call = stub.Hold(coracle::within(20s));
  for (const std::size_t n : {0, 100, 3}) {
    idle::Msg sent;
    sent.set_s(text_of(n));
    (co_await call.write(sent)).throw_if_error();
    const auto received = (co_await call.next()).value();
    if (!received) throw std::runtime_error("Hold: the stream ended early");
    expect_same("Hold", sent.s(), received->s());
  }
  co_await call.writes_done();
  if (const auto more = (co_await call.next()).value())
    throw std::runtime_error("Hold: a message too many came");
  const coracle::status end = co_await call.finish();
  if (!end.ok()) throw coracle::status_error(end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_check ADDRESS [hold] [orders] [small] [ca=FILE]\n", stderr);
    return 2;
  }
  const std::vector<std::string_view> words(argv + 2, argv + argc);
  const auto said = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  coracle::channel_credentials credentials = coracle::insecure();
  for (const std::string_view word : words) {
    if (!word.starts_with("ca=")) continue;
    coracle::tls::client_options tls;
    tls.cas = {coracle::tls::pem_source::file(std::string(word.substr(3)))};
    credentials = tls;
  }
  try {
    coracle::runtime runtime;
    coracle::channel channel(runtime, argv[1], credentials);
    check_echo(channel, said("small"));
    if (said("orders")) check_orders(channel);
    if (said("hold")) coracle::sync_wait(runtime, hold(channel));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_check: %s: %s\n", argv[1], e.what());
    return 1;
  }
}
