#include "net/dns/ares_channel_options.hpp"

#include <string>

namespace coracle::net {

namespace {

status failed(int error) {
  const std::string text = std::string("looking up names: ") + ares_strerror(error);
  return error == ARES_ENOMEM ? status::resource_exhausted(text) : status::unavailable(text);
}

// Once in the life of the process; c-ares asks for it, and counts its users. Never undone: other libraries of
// the program may use c-ares, too, and the count is not safe between threads.
int library_ready() noexcept {
  static const int outcome = ares_library_init(ARES_LIB_INIT_ALL);
  return outcome;
}

}  // namespace

result<ares_channel> open_ares_channel(const dns_settings& settings, ares_sock_state_cb socket_changed,
                                       void* context) {
  if (const int error = library_ready(); error != ARES_SUCCESS) return failed(error);
  ares_options options{};
  int mask = ARES_OPT_SOCK_STATE_CB;
  options.sock_state_cb = socket_changed;
  options.sock_state_cb_data = context;
  std::string resolv_conf = settings.resolv_conf;
  if (!resolv_conf.empty()) {
    options.resolvconf_path = resolv_conf.data();
    mask |= ARES_OPT_RESOLVCONF;
  }
  if (settings.timeout_ms > 0) {
    options.timeout = settings.timeout_ms;
    mask |= ARES_OPT_TIMEOUTMS;
  }
  if (settings.tries > 0) {
    options.tries = settings.tries;
    mask |= ARES_OPT_TRIES;
  }
  ares_channel channel = nullptr;
  if (const int error = ares_init_options(&channel, &options, mask); error != ARES_SUCCESS)
    return failed(error);
  if (settings.servers.empty()) return channel;
  const int error = ares_set_servers_ports_csv(channel, settings.servers.c_str());
  if (error == ARES_SUCCESS) return channel;
  ares_destroy(channel);
  return failed(error);
}

}  // namespace coracle::net
