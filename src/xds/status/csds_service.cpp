#include "coracle/xds/csds_service.hpp"

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"
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
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <utility>

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

// --- of another runtime, which may end at any time

using answered_config = std::promise<wire::ClientConfig>;

task<> tell(std::uint64_t id, bool contents, std::shared_ptr<answered_config> asked) {
  // Without memory for the answer, the runtime that is asked goes on.
  try {
    wire::ClientConfig one;
    auto visit = write_client(id, contents, one);
    co_await std::move(visit);
    asked->set_value(std::move(one));
  } catch (const std::bad_alloc&) {
    asked->set_exception(std::current_exception());
  }
}

// A loop that nothing runs does not answer.
constexpr std::chrono::seconds visit_max{1};

// On a thread that may block. Without a node if the client has gone, or does not answer.
wire::ClientConfig config_elsewhere(std::uint64_t id, bool contents) {
  auto asked = std::make_shared<answered_config>();
  std::future<wire::ClientConfig> answer = asked->get_future();
  client_registry::instance().run_beside(id, tell(id, contents, std::move(asked)));
  if (answer.wait_for(visit_max) != std::future_status::ready) return {};
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the task did not run
    return {};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

task<status> answer(csds_scope scope, const wire::ClientStatusRequest& request,
                    wire::ClientStatusResponse& to) {
  if (request.node_matchers_size() > 0)
    co_return status::invalid_argument("node_matchers are not supported: this is the status of one node");
  const bool contents = !request.exclude_resource_contents();
  const runtime* const here = &loop::current()->owner();
  const auto clients = client_registry::instance().all();
  for (const auto& [id, each] : clients) {
    wire::ClientConfig one;
    if (each.of == here) {
      auto visit = write_client(id, contents, one);
      co_await on(*each.on, std::move(visit));
    } else if (scope == csds_scope::process) {
      auto visit = offload(config_elsewhere, id, contents);
      one = co_await visit;
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
