// Cases about compressed messages, detected by the flag before each.
#include "expectations.hpp"
#include "interop_cases.hpp"

#include <string>

namespace interop {

namespace {

// For a call whose messages are compressed, whatever their size.
coracle::call_options packed() {
  auto options = coracle::within(patience);
  options.compression = coracle::compression(coracle::encoding::gzip).min_bytes(0);
  return options;
}

void require_packed(bool found, bool wanted) {
  require(found == wanted, wanted ? "the reply was not compressed" : "the reply was compressed");
}

coracle::task<> asks_for(const stub& test, bool compressed) {
  auto request = simple_request();
  request.mutable_response_compressed()->set_value(compressed);
  auto call = test.UnaryCall(request, coracle::within(patience));
  const auto reply = co_await call;
  require_size(reply.value().payload(), large_response);
  require_packed(call.read_compressed(), compressed);
}

pb::StreamingInputCallRequest input_request(std::int32_t bytes, bool compressed) {
  pb::StreamingInputCallRequest request;
  request.mutable_expect_compressed()->set_value(compressed);
  request.mutable_payload()->set_body(body_of(bytes));
  return request;
}

}  // namespace

coracle::task<> client_compressed_unary(session& at) {
  const stub test(at.channel());
  auto request = simple_request();
  request.mutable_expect_compressed()->set_value(true);
  const auto probe = co_await test.UnaryCall(request, coracle::within(patience));
  require_code(probe.status(), coracle::status_code::invalid_argument);

  const auto compressed = co_await test.UnaryCall(request, packed());
  require_size(compressed.value().payload(), large_response);
  request.mutable_expect_compressed()->set_value(false);
  const auto plain = co_await test.UnaryCall(request, coracle::within(patience));
  require_size(plain.value().payload(), large_response);
}

coracle::task<> server_compressed_unary(session& at) {
  const stub test(at.channel());
  co_await asks_for(test, true);
  co_await asks_for(test, false);
}

coracle::task<> client_compressed_streaming(session& at) {
  const stub test(at.channel());
  auto probe = test.StreamingInputCall(coracle::within(patience));
  const auto compressed = input_request(27182, true);
  (co_await probe.write(compressed)).throw_if_error();
  const auto refusal = co_await probe.finish();
  require_code(refusal.status(), coracle::status_code::invalid_argument);

  auto call = test.StreamingInputCall(packed());
  (co_await call.write(compressed)).throw_if_error();
  const auto plain = input_request(45904, false);
  (co_await call.write(plain, coracle::uncompressed())).throw_if_error();
  const auto reply = co_await call.finish();
  const auto sum = reply.value().aggregated_payload_size();
  require(sum == 73086, "the sum of the sizes is " + std::to_string(sum));
}

coracle::task<> server_compressed_streaming(session& at) {
  const stub test(at.channel());
  pb::StreamingOutputCallRequest request;
  for (const auto& [size, compressed] : {std::pair{31415, true}, {92653, false}}) {
    auto& wanted = *request.add_response_parameters();
    wanted.set_size(size);
    wanted.mutable_compressed()->set_value(compressed);
  }
  auto call = test.StreamingOutputCall(request, coracle::within(patience));
  for (const auto& wanted : request.response_parameters()) {
    const auto response = (co_await call.next()).value();
    require(response.has_value(), "a response is missing");
    require_size(response->payload(), wanted.size());
    require_packed(call.read_compressed(), wanted.compressed().value());
  }
  const auto surplus = (co_await call.next()).value();
  require(!surplus, "a response came that nobody asked for");
}

}  // namespace interop
