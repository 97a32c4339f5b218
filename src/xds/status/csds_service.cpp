#include "coracle/xds/csds_service.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/on.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/server_context.hpp"
#include "rpc/channel_registry.hpp"
#include "xds/resource/resource.hpp"
#include "xds/status/client_registry.hpp"
#include "xds/wire/status.pb.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace coracle {

namespace {

using xds::client_registry;
namespace wire = xds::wire;

void set_time(google::protobuf::Timestamp& to, time_point t) {
  const auto since = rpc::to_wall_time(*loop::current(), t).time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(since - seconds).count()));
}

// Numbers of envoy.admin.v3.ClientResourceStatus.
int number_of(xds::cache_state s) noexcept {
  switch (s) {
    case xds::cache_state::requested: return 1;
    case xds::cache_state::does_not_exist: return 2;
    case xds::cache_state::acked: return 3;
    case xds::cache_state::nacked: return 4;
    case xds::cache_state::received_error: return 5;
    case xds::cache_state::timeout: return 6;
  }
  return 0;
}

void write(const xds::resource_dump& from, bool contents, wire::GenericXdsConfig& to) {
  to.set_type_url(xds::type_url(from.kind));
  to.set_name(std::string(from.name));
  to.set_client_status(number_of(from.state));
  if (from.updated != time_point{}) {
    to.set_version_info(std::string(from.version));
    set_time(*to.mutable_last_updated(), from.updated);
    if (contents && !from.bytes.empty()) {
      to.mutable_xds_config()->set_type_url(xds::type_url(from.kind));
      to.mutable_xds_config()->set_value(std::string(from.bytes));
    }
  }
  if (from.error.ok()) return;
  to.mutable_error_state()->set_details(std::string(from.error.message()));
  to.mutable_error_state()->set_version_info(std::string(from.failed_version));
  if (from.failed_at != time_point{})
    set_time(*to.mutable_error_state()->mutable_last_update_attempt(), from.failed_at);
}

// On the loop of the client.
task<> write_client(std::uint64_t id, bool contents, wire::ClientConfig& to) {
  const xds::ads_client* const client = client_registry::instance().find(id);
  if (!client) co_return;
  *to.mutable_node() = client->node();
  client->visit([&](const xds::resource_dump& r) { write(r, contents, *to.add_generic_xds_configs()); });
}

// --- of other runtimes, which may end at any time

// What their clients have said, who are asked together. A late one finds that the answer is complete.
class answers_elsewhere {
 public:
  explicit answers_elsewhere(event<>& complete) noexcept : complete_(&complete) {}

  // One client that is asked; its end is that of the question.
  class question {
   public:
    explicit question(std::shared_ptr<answers_elsewhere> of) : of_(std::move(of)) {
      const std::lock_guard lock(of_->mutex_);
      ++of_->open_;
    }
    question(question&&) noexcept = default;
    question& operator=(question&&) = delete;
    ~question() {
      if (of_) of_->one_is_over();
    }
    void answer(std::uint64_t id, wire::ClientConfig one) const {
      const std::lock_guard lock(of_->mutex_);
      if (of_->complete_) of_->said_.emplace(id, std::move(one));
    }

   private:
    std::shared_ptr<answers_elsewhere> of_;
  };

  // The event is not used any more.
  std::map<std::uint64_t, wire::ClientConfig> close() noexcept {
    const std::lock_guard lock(mutex_);
    complete_ = nullptr;
    return std::exchange(said_, {});
  }

 private:
  void one_is_over() noexcept {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0 && complete_) complete_->set();
  }

  std::mutex mutex_;
  event<>* complete_;  // null: no one waits
  std::size_t open_ = 0;
  std::map<std::uint64_t, wire::ClientConfig> said_;
};

task<> tell(std::uint64_t id, bool contents, answers_elsewhere::question asked) {
  // Without memory for the answer, the runtime that is asked goes on.
  try {
    wire::ClientConfig one;
    auto visit = write_client(id, contents, one);
    co_await std::move(visit);
    asked.answer(id, std::move(one));
  } catch (const std::bad_alloc&) {
  }
}

task<> until(event<>& e) { co_await e; }

// A loop that nothing runs does not answer.
constexpr std::chrono::seconds visit_max{1};  // of all of them

// Those of the clients that have answered.
task<std::map<std::uint64_t, wire::ClientConfig>> ask_elsewhere(std::vector<std::uint64_t> ids,
                                                                bool contents) {
  event<> complete(*loop::current());
  const auto answers = std::make_shared<answers_elsewhere>(complete);
  struct closing {
    explicit closing(answers_elsewhere& a) noexcept : of(a) {}
    ~closing() { of.close(); }
    answers_elsewhere& of;
  } const in_any_case(*answers);
  {
    const answers_elsewhere::question of_all(answers);  // until each one is asked
    for (const std::uint64_t id : ids)
      client_registry::instance().run_beside(id, tell(id, contents, answers_elsewhere::question(answers)));
  }
  static_cast<void>(co_await with_timeout(visit_max, until(complete)));
  co_return answers->close();
}

task<status> answer(csds_scope scope, const wire::ClientStatusRequest& request,
                    wire::ClientStatusResponse& to) {
  if (request.node_matchers_size() > 0)
    co_return status::invalid_argument("node_matchers are not supported: this is the status of one node");
  const bool contents = !request.exclude_resource_contents();
  const runtime* const here = &loop::current()->owner();
  const auto clients = client_registry::instance().all();
  std::vector<std::uint64_t> others;
  if (scope == csds_scope::process)
    for (const auto& [id, each] : clients)
      if (each.of != here) others.push_back(id);
  std::map<std::uint64_t, wire::ClientConfig> elsewhere;
  if (!others.empty()) {
    auto asking = ask_elsewhere(std::move(others), contents);
    elsewhere = co_await std::move(asking);
  }
  for (const auto& [id, each] : clients) {
    wire::ClientConfig one;
    if (each.of == here) {
      auto visit = write_client(id, contents, one);
      co_await on(*each.on, std::move(visit));
    } else if (const auto found = elsewhere.find(id); found != elsewhere.end()) {
      one = std::move(found->second);
    }
    if (!one.has_node()) continue;
    one.set_client_scope(each.scope);
    *to.add_config() = std::move(one);
  }
  co_return ok;
}

}  // namespace

class csds_service::implementation final : public service {
 public:
  explicit implementation(csds_scope scope) noexcept : scope_(scope) {}

  [[nodiscard]] bool is_limited() const noexcept override { return false; }

  reply<wire::ClientStatusResponse> FetchClientStatus(server_context&,
                                                      const wire::ClientStatusRequest& request) {
    wire::ClientStatusResponse all;
    const status found = co_await answer(scope_, request, all);
    if (!found.ok()) co_return found;
    co_return all;
  }
  replies<wire::ClientStatusResponse> StreamClientStatus(server_context&,
                                                         reader<wire::ClientStatusRequest> requests) {
    wire::ClientStatusRequest request;
    while (co_await requests.read(request)) {
      wire::ClientStatusResponse all;
      const status found = co_await answer(scope_, request, all);
      if (!found.ok()) co_return found;
      co_yield all;
    }
    co_return ok;
  }

  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr method table[] = {
        unary_method<&implementation::FetchClientStatus>(
            "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"),
        bidi_method<&implementation::StreamClientStatus>(
            "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus"),
    };
    return table;
  }

 private:
  const csds_scope scope_;
};

csds_service::csds_service(csds_scope scope) : implementation_(std::make_unique<implementation>(scope)) {}
csds_service::~csds_service() = default;

csds_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
