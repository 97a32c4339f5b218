#include "xds/serving/server_client.hpp"

#include "coracle/base/version.hpp"
#include "runtime/backend.hpp"
#include "xds/filters/filter.hpp"

namespace coracle::xds {

std::shared_ptr<server_client> server_client::join(const std::shared_ptr<const bootstrap>& from,
                                                   const std::shared_ptr<const xds_options>& options) {
  return shared_clients::join<server_client>(key_of(from, options, "#server"),
                                             [&] { return std::make_shared<server_client>(from, *options); });
}

server_client::server_client(std::shared_ptr<const bootstrap> from, const xds_options& options)
    : planes_(loop::current()->owner(), options),
      driver_(
          std::move(from),
          {"coracle",
           version_text,
           [&here = *loop::current()] { return static_cast<double>(here.io().random() >> 11) * 0x1.0p-53; },
           {},
           true,
           std::make_shared<const filter_types>(options.filters),
           "#server"},
          [this](const management_server& plane) { return planes_.to(plane); }) {}

}  // namespace coracle::xds
