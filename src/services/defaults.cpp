#include "coracle/services/defaults.hpp"

#include "coracle/server/server.hpp"
#include "coracle/services/reflection_service.hpp"

#include <memory>

namespace coracle {

namespace {

struct default_services {
  health_service health;
  reflection_service reflection;
};

}  // namespace

health_service& with_defaults(server& to) {
  const auto all = std::make_shared<default_services>();
  to.add(std::shared_ptr<service>(all, &static_cast<service&>(all->health)));
  to.add(std::shared_ptr<service>(all, &static_cast<service&>(all->reflection)));
  return all->health;
}

}  // namespace coracle
