#include "adapters/grpcpp/src/server/hosted_service.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace grpc::internal {

using coracle::method_table;

coracle::method hosted_service::row_of(const RpcServiceMethod& method) {
  switch (method.method_type()) {
    case RpcMethod::NORMAL_RPC: {
      const coracle::method unary = coracle::unary_method<&hosted_service::unary>(method.name());
      const auto* const described = linked_method(method.name());
      const bool may_be_got = described && described->options().idempotency_level() ==
                                               google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
      return may_be_got ? unary.without_side_effects() : unary;
    }
    case RpcMethod::CLIENT_STREAMING:
      return coracle::client_streaming_method<&hosted_service::client_streaming>(method.name());
    case RpcMethod::SERVER_STREAMING:
      return coracle::server_streaming_method<&hosted_service::server_streaming>(method.name());
    default: return coracle::bidi_method<&hosted_service::bidi>(method.name());
  }
}

method_table hosted_service::table_of(const Service& of) {
  std::vector<coracle::method> rows;
  for (const auto& method : of.methods())
    if (method) rows.push_back(row_of(*method));
  static std::mutex& changing = *new std::mutex;
  static auto& known = *new std::vector<std::unique_ptr<const std::vector<coracle::method>>>;
  const auto same = [](const coracle::method& a, const coracle::method& b) {
    return a.kind == b.kind && (a.path == b.path || std::strcmp(a.path, b.path) == 0);
  };
  const std::lock_guard lock(changing);
  for (const auto& table : known)
    if (std::ranges::equal(*table, rows, same)) return *table;
  return *known.emplace_back(std::make_unique<const std::vector<coracle::method>>(std::move(rows)));
}

hosted_service::hosted_service(const Service& of, bool records_load, const starter_of& make)
    : table_(table_of(of)), records_load_(records_load) {
  for (const auto& method : of.methods())
    if (method) methods_.emplace(method->name(), hosted_method{make(*method), linked_method(method->name())});
}

coracle::task<coracle::status> hosted_service::run(coracle::server_context& context,
                                                   std::shared_ptr<server_call_core> call) const {
  const hosted_method& method = methods_.find(context.method())->second;
  if (context.content_subtype() == "json") call->use_json(json_messages(method.described));
  if (records_load_) call->record_load();
  return server_call_core::run(std::move(call), *method.starter);
}

coracle::reply<coracle::bytes_message> hosted_service::unary(coracle::server_context& context,
                                                             const bytes& request) {
  const auto call =
      std::make_shared<server_call_core>(context, context.take(request), std::nullopt, std::nullopt);
  auto running = run(context, call);
  coracle::status outcome = co_await std::move(running);
  if (!outcome.ok()) co_return outcome;
  co_return call->take_reply();
}

coracle::reply<coracle::bytes_message> hosted_service::client_streaming(coracle::server_context& context,
                                                                        coracle::reader<bytes> requests) {
  const auto call = std::make_shared<server_call_core>(context, bytes(), requests, std::nullopt);
  auto running = run(context, call);
  coracle::status outcome = co_await std::move(running);
  if (!outcome.ok()) co_return outcome;
  co_return call->take_reply();
}

coracle::replies<coracle::bytes_message> hosted_service::server_streaming(coracle::server_context& context,
                                                                          const bytes& request) {
  const coracle::writer<bytes> writer = co_await coracle::replies<bytes>::writer();
  const auto call = std::make_shared<server_call_core>(context, context.take(request), std::nullopt, writer);
  auto running = run(context, call);
  co_return co_await std::move(running);
}

coracle::replies<coracle::bytes_message> hosted_service::bidi(coracle::server_context& context,
                                                              coracle::reader<bytes> requests) {
  const coracle::writer<bytes> writer = co_await coracle::replies<bytes>::writer();
  const auto call = std::make_shared<server_call_core>(context, bytes(), requests, writer);
  auto running = run(context, call);
  co_return co_await std::move(running);
}

}  // namespace grpc::internal
