// The calls of servers in the completion-queue API.
#include <grpcpp/impl/server_queue_call.h>

#include "adapters/grpcpp/src/interceptors/intercepted_server_call.hpp"
#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/server/end_notice.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

namespace {

// Puts the message of a Read() into that of the program.
class request_event : public queue_event {
 public:
  request_event(void* tag, const message_target& into) : queue_event(tag), into_(into) {}
  coracle::bytes_message message;

 private:
  void deliver() override {
    if (ok) ok = into_.decode(std::move(message).bytes(), into_.message).ok();
  }
  message_target into_;
};

// Keeps the message of a Write().
class reply_event : public queue_event {
 public:
  reply_event(void* tag, std::string&& bytes) : queue_event(tag), message(std::move(bytes)) {}
  const coracle::bytes_message message;
};

void push_failed(queue_core& queue, void* tag) { push_now(queue, std::make_unique<queue_event>(tag), false); }

coracle::write_options coracle_options(const WriteOptions& options) {
  return {.compress = !options.get_no_compression()};
}

}  // namespace

void server_queue_call::bind(std::shared_ptr<server_call_core> call, std::shared_ptr<queue_core> queue,
                             std::shared_ptr<call_interception> seen) {
  if (seen) [[unlikely]]
    seen_ = std::make_shared<intercepted_server_call>(context_, call, queue, std::move(seen));
  call_ = std::move(call);
  queue_ = std::move(queue);
}

void server_queue_call::send_initial_metadata(void* tag) {
  if (seen_) [[unlikely]]
    return seen_->send_initial_metadata(tag);
  auto operation = call_->begin_operation();
  if (!operation) return push_failed(*queue_, tag);
  const auto wait = [&](queue_event&) {
    return server_call_core::send_initial_metadata(std::move(operation),
                                                   server_context_access::take_headers(context_));
  };
  start_for<queue_event>(queue_, call_->loop(), wait, tag);
}

void server_queue_call::read(const message_target& into, void* tag) {
  if (seen_) [[unlikely]]
    return seen_->read(into, tag);
  auto operation = call_->begin_operation();
  if (!operation) return push_failed(*queue_, tag);
  const auto wait = [&](request_event& event) {
    return server_call_core::read(std::move(operation), event.message);
  };
  start_for<request_event>(queue_, call_->loop(), wait, tag, into);
}

void server_queue_call::write(serialized_message&& message, const WriteOptions& options, void* tag) {
  if (seen_) [[unlikely]]
    return seen_->write(std::move(message), options, tag);
  if (!message.outcome.ok()) return push_failed(*queue_, tag);
  auto operation = call_->begin_operation();
  if (!operation) return push_failed(*queue_, tag);
  const auto wait = [&](reply_event& event) {
    return server_call_core::write(std::move(operation), event.message, coracle_options(options),
                                   server_context_access::take_headers(context_));
  };
  start_for<reply_event>(queue_, call_->loop(), wait, tag, std::move(message.bytes));
}

void server_queue_call::finish(const Status& outcome, void* tag) {
  if (seen_) [[unlikely]]
    return seen_->finish(std::nullopt, outcome, tag);
  call_->finish(server_context_access::take_end(context_, outcome),
                std::make_unique<end_notice>(queue_, tag, true));
}

void server_queue_call::finish(serialized_message&& reply, const Status& outcome, void* tag) {
  if (seen_) [[unlikely]]
    return seen_->finish(std::move(reply), outcome, tag);
  call_end end = server_context_access::take_end(context_, reply.outcome.ok() ? outcome : reply.outcome);
  end.reply = std::move(reply.bytes);
  call_->finish(std::move(end), std::make_unique<end_notice>(queue_, tag, true));
}

void server_queue_call::write_and_finish(serialized_message&& last, const WriteOptions& options,
                                         const Status& outcome, void* tag) {
  if (seen_) [[unlikely]]
    return seen_->write_and_finish(std::move(last), options, outcome, tag);
  call_end end = server_context_access::take_end(context_, last.outcome.ok() ? outcome : last.outcome);
  if (last.outcome.ok()) end.last_message.emplace(std::move(last.bytes));
  end.last_options = coracle_options(options);
  call_->finish(std::move(end), std::make_unique<end_notice>(queue_, tag, true));
}

}  // namespace grpc::internal
