#include "coracle/net/resolver.hpp"

#include "net/connect.hpp"
#include "net/dns/dns_source.hpp"
#include "net/host_name.hpp"
#include "net/simulated_names.hpp"

#include <utility>

namespace coracle::net {

resolver::resolver() noexcept = default;
resolver::resolver(resolver&&) noexcept = default;
resolver& resolver::operator=(resolver&&) noexcept = default;
resolver::~resolver() = default;

task<result<std::vector<address>>> resolver::resolve(std::string host, std::uint16_t port) {
  std::vector<address> known = addresses_at_once(host, port);
  if (!known.empty()) co_return known;
  const status fit = check_host_name(host);
  if (!fit.ok()) co_return fit;

  loop& on = current_loop();
  runtime_internal::name_answer said;
  if (on.io().look_up(host, said)) {
    task<result<std::vector<address>>> answer = answer_in_time(on, std::move(said), std::move(host), port);
    co_return co_await std::move(answer);
  }
  if (!dns_) dns_ = std::make_unique<dns_source>(on);
  co_return co_await dns_->look_up(std::move(host), port);
}

}  // namespace coracle::net
