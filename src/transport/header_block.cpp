#include "transport/header_block.hpp"

#include "hpack/encoder.hpp"

namespace coracle::transport {

header_block& header_block::add(std::string_view name, std::string_view value) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + hpack::stateless_encoder::bound(name.size(), value.size()));
  std::uint8_t* const end = hpack::stateless_encoder::encode(bytes_.data() + before, name, value);
  bytes_.resize(static_cast<std::size_t>(end - bytes_.data()));
  return *this;
}

}  // namespace coracle::transport
