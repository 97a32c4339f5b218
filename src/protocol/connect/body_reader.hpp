// body_reader: splits the body of a Connect stream's response into messages and the end-stream message.
#pragma once

#include "protocol/connect/error.hpp"
#include "protocol/web/body_reader.hpp"

#include <cstdint>

namespace coracle::protocol::connect {

class body_reader : public web::body_reader {
 public:
  explicit body_reader(std::uint32_t bytes_max = json_bytes_max) noexcept
      : web::body_reader(end_stream_flag, bytes_max) {}
};

}  // namespace coracle::protocol::connect
