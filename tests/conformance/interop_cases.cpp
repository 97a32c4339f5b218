#include "interop_cases.hpp"

#include "grpc/testing/test.coracle.hpp"

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

namespace interop {
namespace {

using namespace std::chrono_literals;
namespace pb = grpc::testing;
using stub = pb::rpc::TestService::stub;

// A case that takes longer has failed.
constexpr auto patience = 20s;

// The sizes that the description names, in bytes.
constexpr std::int32_t large_request = 271828, large_response = 314159;
constexpr std::array<std::int32_t, 4> request_sizes = {27182, 8, 1828, 45904};
constexpr std::array<std::int32_t, 4> response_sizes = {31415, 9, 2653, 58979};

constexpr const char* initial_key = "x-grpc-test-echo-initial";
constexpr const char* initial_value = "test_initial_metadata_value";
constexpr const char* trailing_key = "x-grpc-test-echo-trailing-bin";
constexpr const char* trailing_value = "\xab\xab\xab";

void require(bool truth, const std::string& what) {
  if (!truth) throw std::runtime_error(what);
}
void require_status(const coracle::status& found, coracle::status_code code, std::string_view message) {
  require(found == coracle::status(code, message), "the status is " + found.to_string());
}
void require_code(const coracle::status& found, coracle::status_code code) {
  require(found.code() == code, "the status is " + found.to_string() + ", not " + std::string(name_of(code)));
}
void require_size(const pb::Payload& payload, std::int32_t size) {
  require(payload.type() == pb::COMPRESSABLE, "the payload has another type");
  require(payload.body() == std::string(static_cast<std::size_t>(size), '\0'),
          "the payload is not " + std::to_string(size) + " zeros but " +
              std::to_string(payload.body().size()) + " bytes");
}
void require_metadata(const coracle::metadata& initial, const coracle::metadata& trailing) {
  require(initial.find(initial_key).value_or("") == initial_value, "the initial metadata did not come back");
  require(trailing.find(trailing_key).value_or("") == trailing_value,
          "the trailing metadata did not come back");
}

pb::SimpleRequest simple_request() {
  pb::SimpleRequest request;
  request.set_response_size(large_response);
  request.mutable_payload()->set_body(std::string(large_request, '\0'));
  return request;
}
pb::StreamingOutputCallRequest duplex_request(std::int32_t request_size, std::int32_t response_size) {
  pb::StreamingOutputCallRequest request;
  request.add_response_parameters()->set_size(response_size);
  request.mutable_payload()->set_body(std::string(static_cast<std::size_t>(request_size), '\0'));
  return request;
}

coracle::task<> empty_unary(coracle::channel& channel) {
  const stub test(channel);
  const pb::Empty request;
  const auto reply = co_await test.EmptyCall(request, coracle::within(patience));
  require(reply.value().ByteSizeLong() == 0, "the reply is not empty");
}

coracle::task<> large_unary(coracle::channel& channel) {
  const stub test(channel);
  const auto request = simple_request();
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  require_size(reply.value().payload(), large_response);
}

coracle::task<> client_streaming(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.StreamingInputCall(coracle::within(patience));
  for (const auto size : request_sizes) {
    pb::StreamingInputCallRequest request;
    request.mutable_payload()->set_body(std::string(static_cast<std::size_t>(size), '\0'));
    co_await call.write(request);
  }
  const auto reply = co_await call.finish();
  const auto sum = reply.value().aggregated_payload_size();
  require(sum == 74922, "the sum of the sizes is " + std::to_string(sum));
}

coracle::task<> server_streaming(coracle::channel& channel) {
  const stub test(channel);
  pb::StreamingOutputCallRequest request;
  for (const auto size : response_sizes) request.add_response_parameters()->set_size(size);
  auto call = test.StreamingOutputCall(request, coracle::within(patience));
  std::size_t count = 0;
  while (const auto response = co_await call.next()) {
    require(count < response_sizes.size(), "more responses came than were asked for");
    require_size(response->payload(), response_sizes[count++]);
  }
  require(count == response_sizes.size(), "only " + std::to_string(count) + " responses came");
}

coracle::task<> ping_pong(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.FullDuplexCall(coracle::within(patience));
  for (std::size_t i = 0; i < request_sizes.size(); ++i) {
    const auto request = duplex_request(request_sizes[i], response_sizes[i]);
    co_await call.write(request);
    const auto response = co_await call.next();
    require(response.has_value(), "the stream ended after " + std::to_string(i) + " responses");
    require_size(response->payload(), response_sizes[i]);
  }
  co_await call.writes_done();
  const auto surplus = co_await call.next();
  require(!surplus, "a response came that nobody asked for");
}

coracle::task<> empty_stream(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.FullDuplexCall(coracle::within(patience));
  co_await call.writes_done();
  const auto surplus = co_await call.next();
  require(!surplus, "a response came to no request");
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::ok);
}

coracle::task<> timeout_on_sleeping_server(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.FullDuplexCall(coracle::within(1ms));
  pb::StreamingOutputCallRequest request;
  request.mutable_payload()->set_body(std::string(27182, '\0'));
  (void)co_await call.write_result(request);  // the deadline may have passed already
  const auto response = co_await call.next_result();
  require_code(response.status(), coracle::status_code::deadline_exceeded);
}

coracle::task<> cancel_after_begin(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.StreamingInputCall(coracle::within(patience));
  const pb::StreamingInputCallRequest request;
  co_await call.write(request);  // a call begins with its first message
  call.cancel();
  const auto reply = co_await call.finish();
  require_code(reply.status(), coracle::status_code::cancelled);
}

coracle::task<> cancel_after_first_response(coracle::channel& channel) {
  const stub test(channel);
  auto call = test.FullDuplexCall(coracle::within(patience));
  const auto request = duplex_request(request_sizes[0], response_sizes[0]);
  co_await call.write(request);
  const auto response = co_await call.next();
  require(response.has_value(), "no response came");
  require_size(response->payload(), response_sizes[0]);
  call.cancel();
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::cancelled);
}

coracle::task<> status_comes_back(coracle::channel& channel, std::string message) {
  const stub test(channel);
  pb::SimpleRequest request;
  request.mutable_response_status()->set_code(static_cast<int>(coracle::status_code::unknown));
  request.mutable_response_status()->set_message(message);
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  require_status(reply.status(), coracle::status_code::unknown, message);
}

coracle::task<> status_code_and_message(coracle::channel& channel) {
  const std::string message = "test status message";
  co_await status_comes_back(channel, message);

  const stub test(channel);
  pb::StreamingOutputCallRequest request;
  request.mutable_response_status()->set_code(static_cast<int>(coracle::status_code::unknown));
  request.mutable_response_status()->set_message(message);
  auto call = test.FullDuplexCall(coracle::within(patience));
  co_await call.write(request);
  const auto status = co_await call.finish();
  require_status(status, coracle::status_code::unknown, message);
}

coracle::task<> special_status_message(coracle::channel& channel) {
  const std::string message = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n";
  co_await status_comes_back(channel, message);
}

coracle::task<> custom_metadata(coracle::channel& channel) {
  const stub test(channel);
  auto options = coracle::within(patience);
  options.metadata(initial_key, initial_value).metadata(trailing_key, trailing_value);

  const auto request = simple_request();
  auto unary = test.UnaryCall(request, options);
  const auto reply = co_await unary;
  require_size(reply.value().payload(), large_response);
  require_metadata(unary.initial_metadata(), unary.trailing_metadata());

  auto duplex = test.FullDuplexCall(options);
  const auto wish = duplex_request(large_request, large_response);
  co_await duplex.write(wish);
  const auto response = co_await duplex.next();
  require(response.has_value(), "no response came");
  require_size(response->payload(), large_response);
  const auto status = co_await duplex.finish();
  require_code(status, coracle::status_code::ok);
  require_metadata(duplex.initial_metadata(), duplex.trailing_metadata());
}

coracle::task<> unimplemented_method(coracle::channel& channel) {
  const stub test(channel);
  const pb::Empty request;
  const auto reply = co_await test.UnimplementedCall(request, coracle::within(patience));
  require_code(reply.status(), coracle::status_code::unimplemented);
}

coracle::task<> unimplemented_service(coracle::channel& channel) {
  const pb::rpc::UnimplementedService::stub nobody(channel);
  const pb::Empty request;
  const auto reply = co_await nobody.UnimplementedCall(request, coracle::within(patience));
  require_code(reply.status(), coracle::status_code::unimplemented);
}

constexpr named_case table[] = {
    {"empty_unary", empty_unary},
    {"large_unary", large_unary},
    {"client_streaming", client_streaming},
    {"server_streaming", server_streaming},
    {"ping_pong", ping_pong},
    {"empty_stream", empty_stream},
    {"timeout_on_sleeping_server", timeout_on_sleeping_server},
    {"cancel_after_begin", cancel_after_begin},
    {"cancel_after_first_response", cancel_after_first_response},
    {"status_code_and_message", status_code_and_message},
    {"special_status_message", special_status_message},
    {"custom_metadata", custom_metadata},
    {"unimplemented_method", unimplemented_method},
    {"unimplemented_service", unimplemented_service},
};

}  // namespace

std::span<const named_case> cases() noexcept { return table; }

}  // namespace interop
