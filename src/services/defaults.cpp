#include "coracle/services/defaults.hpp"

#include "coracle/server/server.hpp"
#include "coracle/services/channelz_service.hpp"
#include "coracle/services/reflection_service.hpp"

#include <memory>

namespace coracle {

namespace {

struct default_services {
  explicit default_services(server& of) : channelz(of) {}
  health_service health;
  reflection_service reflection;
  channelz_service channelz;
};

}  // namespace

health_service& with_defaults(server& to) {
  const auto all = std::make_shared<default_services>(to);
  to.add(std::shared_ptr<service>(all, &static_cast<service&>(all->health)));
  to.add(std::shared_ptr<service>(all, &static_cast<service&>(all->reflection)));
  to.add(std::shared_ptr<service>(all, &static_cast<service&>(all->channelz)));
  return all->health;
}

}  // namespace coracle
