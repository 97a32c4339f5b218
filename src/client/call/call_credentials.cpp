#include "coracle/client/call_credentials.hpp"

namespace coracle {

std::string credentials_request::service_url() const {
  std::string_view host = authority_;
  if (host.ends_with(":443")) host.remove_suffix(4);
  return "https://" + std::string(host) + method_.substr(0, method_.rfind('/'));
}

}  // namespace coracle
