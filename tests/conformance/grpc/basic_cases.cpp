// The cases that every implementation of gRPC passes.
#include "expectations.hpp"
#include "interop_cases.hpp"

#include <chrono>
#include <string>

namespace interop {

namespace {

using namespace std::chrono_literals;

constexpr const char* initial_key = "x-grpc-test-echo-initial";
constexpr const char* initial_value = "test_initial_metadata_value";
constexpr const char* trailing_key = "x-grpc-test-echo-trailing-bin";
constexpr const char* trailing_value = "\xab\xab\xab";

void require_metadata(const coracle::metadata& initial, const coracle::metadata& trailing) {
  require(initial.find(initial_key).value_or("") == initial_value, "the initial metadata did not come back");
  require(trailing.find(trailing_key).value_or("") == trailing_value,
          "the trailing metadata did not come back");
}

}  // namespace

coracle::task<> empty_unary(session& at) {
  const stub test(at.channel());
  const pb::Empty request;
  const auto reply = co_await test.EmptyCall(request, coracle::within(patience));
  require(reply.value().ByteSizeLong() == 0, "the reply is not empty");
}

// As the description says: the server is behind a proxy that caches.
coracle::task<> cacheable_unary(session& at) {
  const stub test(at.channel());
  pb::SimpleRequest request;
  request.mutable_payload()->set_body(std::to_string(at.runtime().at(0).now().time_since_epoch().count()));
  auto options = coracle::within(patience);
  options.add_metadata("x-user-ip", "1.2.3.4");
  const auto first = co_await test.CacheableUnaryCall(request, options);
  const auto second = co_await test.CacheableUnaryCall(request, options);
  require(first.value().payload().body() == second.value().payload().body(), "the replies are not the same");
}

// The server's part of cacheable_unary, without a proxy: each reply has a payload of its own, and may be
// cached.
coracle::task<> uncached_unary(session& at) {
  const stub test(at.channel());
  const pb::SimpleRequest request;
  auto call = test.CacheableUnaryCall(request, coracle::within(patience));
  const auto first = co_await call;
  const auto second = co_await test.CacheableUnaryCall(request, coracle::within(patience));
  require(!first.value().payload().body().empty(), "the payload is empty");
  require(first.value().payload().body() != second.value().payload().body(),
          "two calls have the same payload");
  const auto cache = call.initial_metadata().find("cache-control");
  require(cache && cache->find("max-age=60") != std::string_view::npos,
          "cache-control does not say max-age=60");
}

coracle::task<> large_unary(session& at) {
  const stub test(at.channel());
  const auto request = simple_request();
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  require_size(reply.value().payload(), large_response);
}

coracle::task<> client_streaming(session& at) {
  const stub test(at.channel());
  auto call = test.StreamingInputCall(coracle::within(patience));
  for (const auto size : request_sizes) {
    pb::StreamingInputCallRequest request;
    request.mutable_payload()->set_body(body_of(size));
    (co_await call.write(request)).throw_if_error();
  }
  const auto reply = co_await call.finish();
  const auto sum = reply.value().aggregated_payload_size();
  require(sum == 74922, "the sum of the sizes is " + std::to_string(sum));
}

coracle::task<> server_streaming(session& at) {
  const stub test(at.channel());
  pb::StreamingOutputCallRequest request;
  for (const auto size : response_sizes) request.add_response_parameters()->set_size(size);
  auto call = test.StreamingOutputCall(request, coracle::within(patience));
  std::size_t count = 0;
  while (const auto response = (co_await call.next()).value()) {
    require(count < response_sizes.size(), "more responses came than were asked for");
    require_size(response->payload(), response_sizes[count++]);
  }
  require(count == response_sizes.size(), "only " + std::to_string(count) + " responses came");
}

coracle::task<> ping_pong(session& at) {
  const stub test(at.channel());
  auto call = test.FullDuplexCall(coracle::within(patience));
  for (std::size_t i = 0; i < request_sizes.size(); ++i) {
    const auto request = duplex_request(request_sizes[i], response_sizes[i]);
    (co_await call.write(request)).throw_if_error();
    const auto response = (co_await call.next()).value();
    require(response.has_value(), "the stream ended after " + std::to_string(i) + " responses");
    require_size(response->payload(), response_sizes[i]);
  }
  co_await call.writes_done();
  const auto surplus = (co_await call.next()).value();
  require(!surplus, "a response came that nobody asked for");
}

coracle::task<> empty_stream(session& at) {
  const stub test(at.channel());
  auto call = test.FullDuplexCall(coracle::within(patience));
  co_await call.writes_done();
  const auto surplus = (co_await call.next()).value();
  require(!surplus, "a response came to no request");
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::ok);
}

coracle::task<> timeout_on_sleeping_server(session& at) {
  const stub test(at.channel());
  auto call = test.FullDuplexCall(coracle::within(1ms));
  pb::StreamingOutputCallRequest request;
  request.mutable_payload()->set_body(body_of(27182));
  (void)co_await call.write(request);  // the deadline may have passed already
  const auto response = co_await call.next();
  require_code(response.status(), coracle::status_code::deadline_exceeded);
}

coracle::task<> cancel_after_begin(session& at) {
  const stub test(at.channel());
  auto call = test.StreamingInputCall(coracle::within(patience));
  co_await call.start();
  call.cancel();
  const auto reply = co_await call.finish();
  require_code(reply.status(), coracle::status_code::cancelled);
}

coracle::task<> cancel_after_first_response(session& at) {
  const stub test(at.channel());
  auto call = test.FullDuplexCall(coracle::within(patience));
  const auto request = duplex_request(request_sizes[0], response_sizes[0]);
  (co_await call.write(request)).throw_if_error();
  const auto response = (co_await call.next()).value();
  require(response.has_value(), "no response came");
  require_size(response->payload(), response_sizes[0]);
  call.cancel();
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::cancelled);
}

namespace {

coracle::task<> status_comes_back(session& at, std::string message) {
  const stub test(at.channel());
  pb::SimpleRequest request;
  request.mutable_response_status()->set_code(static_cast<int>(coracle::status_code::unknown));
  request.mutable_response_status()->set_message(message);
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  require_status(reply.status(), coracle::status_code::unknown, message);
}

}  // namespace

coracle::task<> status_code_and_message(session& at) {
  const std::string message = "test status message";
  co_await status_comes_back(at, message);

  const stub test(at.channel());
  pb::StreamingOutputCallRequest request;
  request.mutable_response_status()->set_code(static_cast<int>(coracle::status_code::unknown));
  request.mutable_response_status()->set_message(message);
  auto call = test.FullDuplexCall(coracle::within(patience));
  (co_await call.write(request)).throw_if_error();
  const auto status = co_await call.finish();
  require_status(status, coracle::status_code::unknown, message);
}

coracle::task<> special_status_message(session& at) {
  const std::string message = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n";
  co_await status_comes_back(at, message);
}

coracle::task<> custom_metadata(session& at) {
  const stub test(at.channel());
  auto options = coracle::within(patience);
  options.add_metadata(initial_key, initial_value);
  options.add_metadata(trailing_key, trailing_value);

  const auto request = simple_request();
  auto unary = test.UnaryCall(request, options);
  const auto reply = co_await unary;
  require_size(reply.value().payload(), large_response);
  require_metadata(unary.initial_metadata(), unary.trailing_metadata());

  auto duplex = test.FullDuplexCall(options);
  const auto wish = duplex_request(large_request, large_response);
  (co_await duplex.write(wish)).throw_if_error();
  const auto response = (co_await duplex.next()).value();
  require(response.has_value(), "no response came");
  require_size(response->payload(), large_response);
  const auto status = co_await duplex.finish();
  require_code(status, coracle::status_code::ok);
  require_metadata(duplex.initial_metadata(), duplex.trailing_metadata());
}

coracle::task<> unimplemented_method(session& at) {
  const stub test(at.channel());
  const pb::Empty request;
  const auto reply = co_await test.UnimplementedCall(request, coracle::within(patience));
  require_code(reply.status(), coracle::status_code::unimplemented);
}

coracle::task<> unimplemented_service(session& at) {
  const pb::rpc::UnimplementedService::stub nobody(at.channel());
  const pb::Empty request;
  const auto reply = co_await nobody.UnimplementedCall(request, coracle::within(patience));
  require_code(reply.status(), coracle::status_code::unimplemented);
}

}  // namespace interop
