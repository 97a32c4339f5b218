#include "coracle/services/health_service.hpp"

#include "services/health.coracle.hpp"
#include "services/health_book.hpp"

#include <string>

namespace coracle {

namespace {

using wellknown::health::v1::HealthCheckRequest;
using wellknown::health::v1::HealthCheckResponse;
using wellknown::health::v1::HealthListRequest;
using wellknown::health::v1::HealthListResponse;

HealthCheckResponse::ServingStatus on_the_wire(health_status s) noexcept {
  switch (s) {
    case health_status::serving: return HealthCheckResponse::SERVING;
    case health_status::not_serving: return HealthCheckResponse::NOT_SERVING;
    case health_status::unknown: break;
  }
  return HealthCheckResponse::UNKNOWN;
}

}  // namespace

class health_service::implementation final : public wellknown::health::v1::rpc::Health::service {
 public:
  [[nodiscard]] bool is_limited() const noexcept override { return false; }
  reply<HealthCheckResponse> Check(server_context&, const HealthCheckRequest& request) override {
    if (request.service().size() > name_bytes_max)
      return status::invalid_argument("the name of the service has " +
                                      std::to_string(request.service().size()) + " bytes, limit " +
                                      std::to_string(name_bytes_max));
    const auto found = book.of(request.service());
    if (!found.status) return status::not_found("the server has no service of that name");
    HealthCheckResponse reply;
    reply.set_status(on_the_wire(*found.status));
    return reply;
  }

  replies<HealthCheckResponse> Watch(server_context&, const HealthCheckRequest& request) override {
    if (request.service().size() > name_bytes_max)
      co_return status::invalid_argument("the name of the service is too long, limit 200 bytes");
    services::health_book::watcher self(book);
    if (!self.admitted()) co_return status::resource_exhausted("too many calls of Watch: close some");
    HealthCheckResponse reply;
    for (bool first = true;; first = false) {
      self.changed.reset();  // reset before the query, so that no change is missed
      const auto now = book.of(request.service());
      const auto state = now.status ? on_the_wire(*now.status) : HealthCheckResponse::SERVICE_UNKNOWN;
      if (first || state != reply.status()) {
        reply.set_status(state);
        co_yield reply;
      }
      if (now.closed) co_return status::unavailable("the server is shutting down");
      co_await self.changed;
    }
  }

  reply<HealthListResponse> List(server_context&, const HealthListRequest&) override {
    const auto all = book.all();
    if (all.size() > listed_max) return status::resource_exhausted("the server has more than 100 services");
    HealthListResponse reply;
    for (const auto& [name, state] : all) (*reply.mutable_statuses())[name].set_status(on_the_wire(state));
    return reply;
  }

  void added_to(const service_host& host) override { book.served_by(host); }
  void leaving() noexcept override { book.leave(); }
  void draining() noexcept override { book.close(); }

  services::health_book book;
};

health_service::health_service() : implementation_(std::make_unique<implementation>()) {}
health_service::~health_service() = default;

void health_service::set_status(std::string_view service, health_status status) {
  implementation_->book.set(service, status);
}

health_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
