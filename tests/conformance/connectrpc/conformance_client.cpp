// conformance_client: makes the calls that connectrpc's conformance suite requests on stdin, many at a time.
#include "call_maker.hpp"
#include "framed_message.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/client.hpp>
#include <coracle/coro/semaphore.hpp>
#include <coracle/runtime.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace {

namespace pb = connectrpc::conformance::v1;

// Many cases only wait; more at a time would make the suite's server late for those with deadlines.
constexpr std::size_t calls_at_a_time = 8;

// On a thread that may block.
std::optional<pb::ClientCompatRequest> read_request() {
  pb::ClientCompatRequest request;
  if (!conformance::read_framed(stdin, request)) return std::nullopt;
  return request;
}

coracle::task<> answer(coracle::runtime& runtime, coracle::semaphore& turns,
                       pb::ClientCompatRequest request) {
  pb::ClientCompatResponse response;
  response.set_test_name(request.test_name());
  try {
    auto result = co_await conformance::make_call(runtime, request);
    *response.mutable_response() = std::move(result);
  } catch (const std::exception& error) {
    response.mutable_error()->set_message(error.what());
  }
  turns.release();
  conformance::write_framed(stdout, response);  // the suite reads all the time
}

coracle::task<> answer_all(coracle::runtime& runtime) {
  coracle::semaphore turns(calls_at_a_time);
  coracle::scope calls(co_await coracle::coro::this_environment());
  while (true) {
    auto request = co_await coracle::offload(&read_request);
    if (!request) break;
    co_await turns.acquire();
    calls.spawn(answer(runtime, turns, *std::move(request)));
  }
  co_await calls.join();
}

}  // namespace

int main() {
  return examples::run("conformance_client", [] {
    coracle::runtime runtime;
    coracle::sync_wait(runtime, answer_all(runtime));
    return 0;
  });
}
