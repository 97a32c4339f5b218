#include "coracle/client/connector.hpp"

#include "net/byte_stream_duplex.hpp"

#include <utility>

namespace coracle {

task<result<std::unique_ptr<net::duplex>>> connector::make_duplex(loop& on) {
  task<result<std::unique_ptr<net::byte_stream>>> connecting = connect();
  result<std::unique_ptr<net::byte_stream>> made = co_await std::move(connecting);
  if (!made) co_return made.status();
  if (!*made) co_return status::unavailable("the connector returned a null pointer");
  co_return net::make_duplex(on, *std::move(made));
}

}  // namespace coracle
