#include "adapters/grpcpp/src/credentials/auth_processing.hpp"

#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/runtime/offload.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace grpc::internal {

// The work of a processor on one call: what it reads and writes. Shared, because it may outlast the call.
struct auth_work {
  metadata_map metadata;
  std::shared_ptr<own_auth_context> context;
  AuthMetadataProcessor::OutputMetadata consumed;
};

namespace {

// Calls between their processor and their handler.
struct processed_calls {
  std::atomic<std::size_t> size{0};  // so that servers without processors need no lock
  std::mutex changing;
  std::unordered_map<const coracle::server_context*, std::unique_ptr<processed_auth>> all;
};
processed_calls& between() {
  static auto& only = *new processed_calls;
  return only;
}

void put(const coracle::server_context& call, std::unique_ptr<processed_auth> what) {
  processed_calls& calls = between();
  const std::lock_guard lock(calls.changing);
  calls.all.insert_or_assign(&call, std::move(what));
  calls.size = calls.all.size();
}

Status process(std::shared_ptr<AuthMetadataProcessor> by, std::shared_ptr<auth_work> of) {
  AuthMetadataProcessor::OutputMetadata ignored;
  try {
    return by->Process(of->metadata.map(), of->context.get(), &of->consumed, &ignored);
  } catch (const std::exception&) {
    return Status(StatusCode::UNAUTHENTICATED, "the AuthMetadataProcessor threw an exception");
  }
}

}  // namespace

std::unique_ptr<processed_auth> auth_processing::take(const coracle::server_context& call) {
  processed_calls& calls = between();
  if (calls.size.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(calls.changing);
  const auto found = calls.all.find(&call);
  if (found == calls.all.end()) return nullptr;
  std::unique_ptr<processed_auth> what = std::move(found->second);
  calls.all.erase(found);
  calls.size = calls.all.size();
  return what;
}

// What is put for a call stays until its handler takes it, or its interceptor ends: services of Coracle do not
// take it, and a later call may have the same address.
class handed_over {
 public:
  handed_over(const coracle::server_context& call, std::unique_ptr<processed_auth> what) : call_(call) {
    put(call, std::move(what));
  }
  handed_over(const handed_over&) = delete;
  handed_over& operator=(const handed_over&) = delete;
  ~handed_over() { static_cast<void>(auth_processing::take(call_)); }

 private:
  const coracle::server_context& call_;
};

coracle::task<coracle::status> auth_processing::intercept(coracle::server_context& call,
                                                          coracle::next_handler next) {
  if (!call.auth()) co_return co_await next();
  const auto work = std::make_shared<auth_work>();
  work->metadata.add(":path", call.method());
  add_to(work->metadata, call.metadata());
  work->context = std::make_shared<own_auth_context>(*call.auth());
  Status said;
  if (by_->IsBlocking()) {
    auto asking = coracle::offload(&process, by_, work);
    said = co_await asking;
  } else {
    said = process(by_, work);
  }
  if (!said.ok()) co_return status_of(said);
  auto what = std::make_unique<processed_auth>();
  what->context = work->context;
  what->consumed = std::move(work->consumed);
  const handed_over until_the_end(call, std::move(what));
  co_return co_await next();
}

}  // namespace grpc::internal
