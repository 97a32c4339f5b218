#include "adapters/grpcpp/src/server/handler_call.hpp"

#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"
#include "adapters/grpcpp/src/server/server_core.hpp"
#include "adapters/grpcpp/src/threads/blocking.hpp"

#include <exception>

namespace grpc::internal {

using coracle::bytes_message;

void handler_call::run() noexcept {
  try {
    server_context_access::bind(context_, call_);
    if (!interceptors_.empty()) {
      interception_.emplace(interceptors_, context_, method_);
      if (!interception_->empty()) {
        seen_ = &*interception_;
        server_context_access::set_interception(context_, {std::shared_ptr<void>(), seen_});
      }
    }
    Server::GlobalCallbacks* const callbacks = global_callbacks.load(std::memory_order_acquire);
    if (callbacks) callbacks->PreSynchronousRequest(&context_);
    method_.handler()->run(*this);
    if (callbacks) callbacks->PostSynchronousRequest(&context_);
  } catch (const std::exception& e) {
    internal::library_log()
        .in(coracle::log_room::adapters)
        .error("grpc++: a handler of the library threw: ", e.what());
    call_->finish(server_context_access::take_end(context_, Status(StatusCode::UNKNOWN, "")), nullptr);
  }
}

coracle::status handler_starter::begin(std::shared_ptr<server_call_core> call) {
  using outcome = handler_pool::outcome;
  const std::size_t client = call->client();
  const auto most = [this] { return std::to_string(pool_.handlers_max()); };
  switch (pool_.run(std::make_shared<handler_call>(std::move(call), method_, interceptors_, pool_), client)) {
    case outcome::accepted: break;
    case outcome::above_share:
      return coracle::status::resource_exhausted(
          "the calls of this client run more handlers than are free, limit " + most() +
          " for all clients: end some of the calls first");
    case outcome::above_limit:
      return coracle::status::resource_exhausted("the server runs as many handlers as it may, limit " +
                                                 most() + " (see ResourceQuota::SetMaxThreads())");
    case outcome::no_thread:
      return coracle::status::resource_exhausted("the system refuses the server a thread for a handler");
  }
  return coracle::ok;
}

bool handler_call::read(std::string& into) {
  auto operation = call_->begin_operation();
  if (!operation) return false;
  bytes_message message;
  if (!run_blocking(call_->loop(), server_call_core::read(std::move(operation), message))) return false;
  into = std::move(message).bytes();
  return true;
}

bool handler_call::write(std::string&& message, const WriteOptions& options) {
  auto operation = call_->begin_operation();
  if (!operation) return false;
  const bytes_message sent(std::move(message));
  return run_blocking(call_->loop(), server_call_core::write(std::move(operation), sent,
                                                             {.compress = !options.get_no_compression()},
                                                             server_context_access::take_headers(context_)));
}

void handler_call::send_initial_metadata() {
  std::optional<interceptor_batch> b;
  if (seen_ && seen_->first_send()) {
    b.emplace().sends_initial = true;
    b->add(experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
    seen_->before(*b);
  }
  if (auto operation = call_->begin_operation())
    run_blocking(call_->loop(), server_call_core::send_initial_metadata(
                                    std::move(operation), server_context_access::take_headers(context_)));
  if (b) seen_->after(*b);
}

void handler_call::finish(const Status& outcome, std::string&& reply) {
  call_end end = server_context_access::take_end(context_, outcome);
  end.counted = pool_.made(reply.size());
  end.reply = std::move(reply);
  call_->finish(std::move(end), nullptr);
}

}  // namespace grpc::internal
