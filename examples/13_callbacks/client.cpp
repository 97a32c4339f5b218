// sums_client [ADDRESS]: a client without coroutines, in which functions and futures get the results.
#include "sums.coracle.hpp"
#include "worker.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace {

using namespace std::chrono_literals;
using sums_stub = sums::rpc::Sums::stub;

sums::Terms terms(std::int64_t a, std::int64_t b) {
  sums::Terms t;
  t.add_values(a);
  t.add_values(b);
  return t;
}

// --8<-- [start:future]
std::int64_t add_by_future(const sums_stub& stub) {
  std::future<coracle::result<sums::Sum>> sum = stub.Add(terms(1, 2), coracle::within(20s)).future();
  // ... the thread does something else ...
  return sum.get().value().value();
}
// --8<-- [end:future]

// --8<-- [start:then]
void add_on_worker(const sums_stub& stub, worker& on, std::promise<std::int64_t>& into) {
  const auto show = [&into](coracle::result<sums::Sum> sum) {  // runs on the worker
    into.set_value(sum ? sum->value() : -1);
  };
  stub.Add(terms(3, 4), coracle::within(20s)).then(std::ref(on), show).detach();
}
// --8<-- [end:then]

// --8<-- [start:cancel]
void add_and_cancel(const sums_stub& stub) {
  // The handle cancels the call when it is destroyed: a member of an object, for example.
  const coracle::started call = stub.Add(terms(5, 6)).then([](const coracle::result<sums::Sum>&) {});
}
// --8<-- [end:cancel]

// --8<-- [start:stream]
// Each function holds the object, and the last one destroys it.
class counting : public std::enable_shared_from_this<counting> {
 public:
  counting(const sums_stub& stub, const sums::Sum& last) : call_(stub.Count(last, coracle::within(20s))) {}
  std::future<int> begin() {
    read_next();
    return done_.get_future();
  }

 private:
  void read_next() {
    call_.next().then([self = shared_from_this()](coracle::result<std::optional<sums::Sum>> message) {
      self->received(message);
    });
  }
  void received(const coracle::result<std::optional<sums::Sum>>& message) {
    if (!message.ok() || !message.value()) return done_.set_value(message.ok() ? count_ : -1);  // the end
    ++count_;
    read_next();
  }

  coracle::server_streaming_call<sums::Sum> call_;
  std::promise<int> done_;
  int count_ = 0;
};
// --8<-- [end:stream]

}  // namespace

int main(int argc, char** argv) {
  const coracle::channel channel(argc > 1 ? argv[1] : "127.0.0.1:50051", coracle::insecure());
  const sums_stub stub(channel);
  try {
    std::cout << "1 + 2 = " << add_by_future(stub) << '\n';
    worker on;
    std::promise<std::int64_t> sum;
    add_on_worker(stub, on, sum);
    std::cout << "3 + 4 = " << sum.get_future().get() << '\n';
    add_and_cancel(stub);
    sums::Sum last;
    last.set_value(1000);
    std::cout << "counted to " << std::make_shared<counting>(stub, last)->begin().get() << '\n';
    auto call = stub.Accumulate(coracle::within(20s));
    std::int64_t total = 0;
    for (int i = 1; i <= 3; ++i) {  // blocking operations and functions may alternate
      coracle::sync_wait(call.write(terms(i, 10))).throw_if_error();
      total = coracle::sync_wait(call.next()).value().value().value();
    }
    std::cout << "accumulated " << total << '\n';
  } catch (const std::exception& error) {
    std::cerr << "sums_client: " << error.what() << '\n';
    return 1;
  }
}
