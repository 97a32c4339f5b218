// sums_server [ADDRESS]: a server without coroutines. A thread of its own answers, and objects handle streams.
#include "sums.coracle.hpp"
#include "worker.hpp"

#include <coracle/server.hpp>

#include <cstdint>
#include <numeric>
#include <utility>

namespace {

std::int64_t sum_of(const sums::Terms& terms) {
  return std::accumulate(terms.values().begin(), terms.values().end(), std::int64_t{0});
}
sums::Sum sum(std::int64_t value) {
  sums::Sum s;
  s.set_value(value);
  return s;
}

// --8<-- [start:server_streaming]
class counting final : public coracle::server_streaming_observer<sums::Sum> {
 public:
  explicit counting(std::int64_t last) : last_(last) {}
  void on_ready() override {  // at the beginning, and whenever there is room again
    while (replies().is_ready() && next_ <= last_) replies().write(sum(next_++));
    if (next_ > last_) replies().finish(coracle::ok);
  }

 private:
  const std::int64_t last_;
  std::int64_t next_ = 1;
};
// --8<-- [end:server_streaming]

// --8<-- [start:bidi]
class accumulating final : public coracle::bidi_observer<sums::Terms, sums::Sum> {
  void on_message(sums::Terms terms) override {
    total_ += sum_of(terms);
    replies().write(sum(total_));
  }
  void on_half_close() override { replies().finish(coracle::ok); }

  std::int64_t total_ = 0;
};
// --8<-- [end:bidi]

// --8<-- [start:service]
class sums_service final : public sums::rpc::Sums::service {
  coracle::reply<sums::Sum> Add(coracle::server_context& context, const sums::Terms& terms) override {
    if (terms.values().empty()) return coracle::status::invalid_argument("there is nothing to add");
    return coracle::respond_later(context, [&](coracle::responder<sums::Sum> responder) {
      worker_.post([responder, terms] {  // a copy: the call may end before the worker begins
        if (responder.cancelled()) return;  // no client waits any more
        responder.answer(sum(sum_of(terms)));
      });
    });
  }
  coracle::replies<sums::Sum> Count(coracle::server_context& context, const sums::Sum& last) override {
    return coracle::observe<counting>(context, last.value());
  }
  coracle::replies<sums::Sum> Accumulate(coracle::server_context& context,
                                         coracle::reader<sums::Terms> requests) override {
    return coracle::observe<accumulating>(context, requests);
  }

  worker worker_;
};
// --8<-- [end:service]

}  // namespace

int main(int argc, char** argv) {
  sums_service service;
  return coracle::serve(argc > 1 ? argv[1] : "127.0.0.1:50051", coracle::insecure(), service);
}
