#include "conformance_service.hpp"

#include "error_status.hpp"
#include "header_fields.hpp"

#include <chrono>
#include <utility>

namespace conformance {

namespace {

using request_info = pb::ConformancePayload::RequestInfo;

// The properties of the call: metadata and the remaining time.
void tell_call(coracle::server_context& context, request_info& info) {
  tell_metadata(context.metadata(), *info.mutable_request_headers());
  if (context.deadline() == coracle::never) return;
  const auto left = context.deadline() - coracle::coro::this_executor().now();
  info.set_timeout_ms(std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
}

template <class Definition>
void set_metadata(coracle::server_context& context, const Definition& definition) {
  for_each_field(definition.response_headers(), [&](const std::string& name, const std::string& value) {
    context.initial_metadata().add(name, value);
  });
  for_each_field(definition.response_trailers(), [&](const std::string& name, const std::string& value) {
    context.trailing_metadata().add(name, value);
  });
}

// If no reply can report what the server received, a detail of the error does.
coracle::status status_with(pb::Error error, const request_info& info) {
  (void)error.add_details()->PackFrom(info);
  return status_of(error);
}

// The suite measures that the server waits.
coracle::sleep_for pause(std::uint32_t ms) { return coracle::sleep_for(std::chrono::milliseconds(ms)); }

template <class Response>
coracle::result<Response> single_reply(const pb::UnaryResponseDefinition& definition, request_info info) {
  if (definition.has_error()) return status_with(definition.error(), info);
  Response response;
  response.mutable_payload()->set_data(definition.response_data());
  *response.mutable_payload()->mutable_request_info() = std::move(info);
  return response;
}

template <class Response, class Request>
coracle::reply<Response> answer_one(coracle::server_context& context, const Request& request) {
  request_info info;
  tell_call(context, info);
  (void)info.add_requests()->PackFrom(request);
  const auto& definition = request.response_definition();
  set_metadata(context, definition);
  if (definition.response_delay_ms() > 0) co_await pause(definition.response_delay_ms());
  auto outcome = single_reply<Response>(definition, std::move(info));
  co_return outcome;
}

}  // namespace

coracle::reply<pb::UnaryResponse> conformance_service::Unary(coracle::server_context& context,
                                                             const pb::UnaryRequest& request) {
  return answer_one<pb::UnaryResponse>(context, request);
}

coracle::reply<pb::IdempotentUnaryResponse> conformance_service::IdempotentUnary(
    coracle::server_context& context, const pb::IdempotentUnaryRequest& request) {
  return answer_one<pb::IdempotentUnaryResponse>(context, request);
}

coracle::reply<pb::ClientStreamResponse> conformance_service::ClientStream(
    coracle::server_context& context, coracle::reader<pb::ClientStreamRequest> requests) {
  request_info info;
  tell_call(context, info);
  pb::UnaryResponseDefinition definition;  // of the first request
  while (const auto request = co_await requests.next()) {
    if (info.requests().empty()) definition = request->response_definition();
    (void)info.add_requests()->PackFrom(*request);
  }
  set_metadata(context, definition);
  if (definition.response_delay_ms() > 0) co_await pause(definition.response_delay_ms());
  auto outcome = single_reply<pb::ClientStreamResponse>(definition, std::move(info));
  co_return outcome;
}

coracle::replies<pb::ServerStreamResponse> conformance_service::ServerStream(
    coracle::server_context& context, const pb::ServerStreamRequest& request) {
  request_info info;
  tell_call(context, info);
  (void)info.add_requests()->PackFrom(request);
  const auto& definition = request.response_definition();
  set_metadata(context, definition);
  context.send_initial_metadata();
  bool first = true;
  for (const auto& data : definition.response_data()) {
    if (definition.response_delay_ms() > 0) co_await pause(definition.response_delay_ms());
    pb::ServerStreamResponse response;
    response.mutable_payload()->set_data(data);
    if (std::exchange(first, false)) *response.mutable_payload()->mutable_request_info() = info;
    co_yield response;
  }
  if (!definition.has_error()) co_return coracle::ok;
  if (first) co_return status_with(definition.error(), info);
  co_return status_of(definition.error());
}

coracle::replies<pb::BidiStreamResponse> conformance_service::BidiStream(
    coracle::server_context& context, coracle::reader<pb::BidiStreamRequest> requests) {
  request_info info;  // what the next reply tells
  tell_call(context, info);
  pb::StreamResponseDefinition definition;  // of the first request
  int received = 0, sent = 0;
  bool full_duplex = false;
  while (const auto request = co_await requests.next()) {
    (void)info.add_requests()->PackFrom(*request);
    if (received++ == 0) {
      definition = request->response_definition();
      full_duplex = request->full_duplex();
      set_metadata(context, definition);
      context.send_initial_metadata();
    }
    if (!full_duplex) continue;
    if (sent == definition.response_data_size()) break;  // nothing is left but the end
    if (definition.response_delay_ms() > 0) co_await pause(definition.response_delay_ms());
    pb::BidiStreamResponse response;
    response.mutable_payload()->set_data(definition.response_data(sent++));
    response.mutable_payload()->mutable_request_info()->Swap(&info);
    co_yield response;
  }
  while (sent < definition.response_data_size()) {
    if (definition.response_delay_ms() > 0) co_await pause(definition.response_delay_ms());
    pb::BidiStreamResponse response;
    response.mutable_payload()->set_data(definition.response_data(sent));
    if (sent++ == 0) response.mutable_payload()->mutable_request_info()->Swap(&info);
    co_yield response;
  }
  if (!definition.has_error()) co_return coracle::ok;
  if (sent == 0) co_return status_with(definition.error(), info);
  co_return status_of(definition.error());
}

}  // namespace conformance
