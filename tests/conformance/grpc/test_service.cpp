#include "test_service.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace interop {

namespace {

constexpr const char* initial_key = "x-grpc-test-echo-initial";
constexpr const char* trailing_key = "x-grpc-test-echo-trailing-bin";

// The largest payload that a client may request: a small request could otherwise cause an expensive reply.
constexpr std::int32_t payload_bytes_max = 64 << 20;

void echo_metadata(coracle::server_context& context) {
  if (const auto value = context.metadata().find(initial_key))
    context.initial_metadata().add(initial_key, *value);
  if (const auto value = context.metadata().find(trailing_key))
    context.trailing_metadata().add(trailing_key, *value);
}

coracle::status status_of(const pb::EchoStatus& wanted) {
  if (wanted.code() < 0 || wanted.code() > 16)
    return coracle::status::invalid_argument("there is no such status code");
  return {static_cast<coracle::status_code>(wanted.code()), wanted.message()};
}

// Ok, or the reason why no payload of this kind can be created.
coracle::status check_payload(pb::PayloadType type, std::int32_t size) {
  if (type != pb::COMPRESSABLE) return coracle::status::invalid_argument("there is no such payload type");
  if (size < 0 || size > payload_bytes_max)
    return coracle::status::invalid_argument("a payload has 0 to 64 MiB");
  return {};
}

void fill(pb::Payload& payload, std::int32_t size) {
  payload.set_type(pb::COMPRESSABLE);
  payload.mutable_body()->assign(static_cast<std::size_t>(size), '\0');
}

// Whether the compression of the last request differs from what the request claims.
template <class Request>
bool unexpectedly_packed(const coracle::server_context& context, const Request& request) {
  return request.has_expect_compressed() && request.expect_compressed().value() != context.read_compressed();
}
const auto wrongly_packed =
    coracle::status::invalid_argument("the request came otherwise compressed than it says");

// Whatever their size: the compression is detected by the flag of the message.
const auto gzip = coracle::compression(coracle::encoding::gzip).min_bytes(0);

coracle::reply<pb::SimpleResponse> reply_to(coracle::server_context& context,
                                            const pb::SimpleRequest& request) {
  if (unexpectedly_packed(context, request)) return wrongly_packed;
  if (request.response_compressed().value()) context.compression(gzip);
  if (request.has_response_status() && request.response_status().code() != 0)
    return status_of(request.response_status());
  if (auto reason = check_payload(request.response_type(), request.response_size()); !reason.ok())
    return reason;
  pb::SimpleResponse response;
  fill(*response.mutable_payload(), request.response_size());
  return response;
}

}  // namespace

coracle::reply<pb::Empty> test_service::EmptyCall(coracle::server_context& context, const pb::Empty&) {
  echo_metadata(context);
  return pb::Empty();
}

coracle::reply<pb::SimpleResponse> test_service::UnaryCall(coracle::server_context& context,
                                                           const pb::SimpleRequest& request) {
  echo_metadata(context);
  if (request.has_orca_per_query_report()) add(context.load(), request.orca_per_query_report());
  return reply_to(context, request);
}

coracle::reply<pb::SimpleResponse> test_service::CacheableUnaryCall(coracle::server_context& context,
                                                                    const pb::SimpleRequest&) {
  echo_metadata(context);
  context.initial_metadata().add("cache-control", "max-age=60, public");
  pb::SimpleResponse response;
  response.mutable_payload()->set_body(std::to_string(next_timestamp_ns()));
  return response;
}

// Nanoseconds of the wall clock as in the description; later than the previous value if the clock has not
// advanced.
std::int64_t test_service::next_timestamp_ns() noexcept {
  const auto now = coracle::loop::current()->wall_now().time_since_epoch();
  const std::int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return last_timestamp_ns_ = std::max(now_ns, last_timestamp_ns_ + 1);
}

coracle::replies<pb::StreamingOutputCallResponse> test_service::StreamingOutputCall(
    coracle::server_context& context, const pb::StreamingOutputCallRequest& request) {
  echo_metadata(context);
  context.compression(gzip);
  auto responses = co_await coracle::replies<pb::StreamingOutputCallResponse>::writer();
  pb::StreamingOutputCallResponse response;
  for (const auto& wanted : request.response_parameters()) {
    if (auto reason = check_payload(request.response_type(), wanted.size()); !reason.ok()) co_return reason;
    // sleeps on purpose: the request asks for the pause
    if (wanted.interval_us() > 0)
      co_await coracle::sleep_for(std::chrono::microseconds(wanted.interval_us()));
    fill(*response.mutable_payload(), wanted.size());
    co_await responses.write(response, coracle::write_options{.compress = wanted.compressed().value()});
  }
  if (request.has_response_status()) co_return status_of(request.response_status());
  co_return coracle::ok;
}

coracle::reply<pb::StreamingInputCallResponse> test_service::StreamingInputCall(
    coracle::server_context& context, coracle::reader<pb::StreamingInputCallRequest> requests) {
  pb::StreamingInputCallResponse response;
  while (const auto request = co_await requests.next()) {
    if (unexpectedly_packed(context, *request)) co_return wrongly_packed;
    const auto size = static_cast<std::int32_t>(request->payload().body().size());
    response.set_aggregated_payload_size(response.aggregated_payload_size() + size);
  }
  co_return response;
}

coracle::replies<pb::StreamingOutputCallResponse> test_service::FullDuplexCall(
    coracle::server_context& context, coracle::reader<pb::StreamingOutputCallRequest> requests) {
  echo_metadata(context);
  std::optional<load_claim> load;
  pb::StreamingOutputCallResponse response;
  while (const auto request = co_await requests.next()) {
    if (request->has_response_status() && request->response_status().code() != 0)
      co_return status_of(request->response_status());
    if (request->has_orca_oob_report()) {
      if (!load) {
        auto turn = co_await loads_.turn().lock();
        load.emplace(loads_, std::move(turn));
      }
      load->tell(request->orca_oob_report());
    }
    for (const auto& wanted : request->response_parameters()) {
      if (auto reason = check_payload(request->response_type(), wanted.size()); !reason.ok())
        co_return reason;
      // sleeps on purpose: the request asks for the pause
      if (wanted.interval_us() > 0)
        co_await coracle::sleep_for(std::chrono::microseconds(wanted.interval_us()));
      fill(*response.mutable_payload(), wanted.size());
      co_yield response;
    }
  }
  co_return coracle::ok;
}

coracle::replies<pb::StreamingOutputCallResponse> test_service::HalfDuplexCall(
    coracle::server_context& context, coracle::reader<pb::StreamingOutputCallRequest> requests) {
  echo_metadata(context);
  std::vector<std::int32_t> sizes;
  while (const auto request = co_await requests.next()) {
    for (const auto& wanted : request->response_parameters()) {
      if (auto reason = check_payload(request->response_type(), wanted.size()); !reason.ok())
        co_return reason;
      sizes.push_back(wanted.size());
    }
  }
  pb::StreamingOutputCallResponse response;
  for (const auto size : sizes) {
    fill(*response.mutable_payload(), size);
    co_yield response;
  }
  co_return coracle::ok;
}

}  // namespace interop
