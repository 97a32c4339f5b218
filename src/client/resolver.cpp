#include "coracle/client/resolver.hpp"

namespace coracle::client {

task<> manual_resolver::run(const target&, resolution_sink& to) {
  watch<resolution>::observer mine(now_);
  while (true) {
    std::optional<resolution> latest = co_await mine.changed();
    if (!latest) co_return;
    to.publish(*std::move(latest));
  }
}

}  // namespace coracle::client
