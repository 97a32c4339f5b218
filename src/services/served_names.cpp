#include "services/served_names.hpp"

#include <string_view>

namespace coracle::services {

std::set<std::string, std::less<>> served_names(const service_host& host) {
  std::set<std::string, std::less<>> names;
  for (const service* s : host.services()) {
    for (const method& m : s->methods()) {  // "/package.Service/Method"
      const std::string_view path = std::string_view(m.path).substr(1);
      names.emplace(path.substr(0, path.find('/')));
    }
  }
  return names;
}

}  // namespace coracle::services
