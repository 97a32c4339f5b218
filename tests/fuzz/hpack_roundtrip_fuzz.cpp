// Both decoders read what the encoder writes, for all fields, policies and table limits.
//
// The input is a program of one-byte operations with their operands, read until it ends.
#include "hpack/encoder.hpp"
#include "unit/hpack/reference_decoder.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace hpack = coracle::hpack;
using hpack::testing::outcome;
using hpack::testing::owned_field;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

class program {
 public:
  explicit program(coracle::bytes_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_[0];
    rest_ = rest_.subspan(1);
    return b;
  }
  std::string text() {
    const std::size_t length = std::min<std::size_t>(byte(), rest_.size());
    std::string text(coracle::as_text(rest_.first(length)));
    rest_ = rest_.subspan(length);
    return text;
  }
  std::string name() {
    const std::uint8_t which = byte();
    if (which == 0 || which > hpack::static_entry_count) return text();
    return std::string(hpack::static_table[which].name);
  }

 private:
  coracle::bytes_view rest_;
};

// One connection: an encoder, both decoders, and the current block.
class connection {
 public:
  explicit connection(std::uint32_t own_limit) : encoder_(own_limit) { begin(); }

  void limit(std::uint32_t bytes) {
    finish();
    encoder_.set_peer_limit(bytes);
    decoder_.set_table_limit(bytes);
    reference_.set_table_limit(bytes);
    begin();
  }
  void field(const std::string& name, const std::string& value, std::uint8_t choice) {
    std::vector<std::uint8_t> room(hpack::encoder::bound(name.size(), value.size()));
    const bool never = choice == static_cast<std::uint8_t>(hpack::indexing::never_index);
    const std::uint8_t* end =
        choice == 4 ? hpack::stateless_encoder::encode(room.data(), name, value)
                    : encoder_.encode(room.data(), name, value, static_cast<hpack::indexing>(choice));
    take(name, value, never, room, end);
  }
  void next_block() {
    finish();
    begin();
  }
  void finish() {
    require(hpack::testing::decode(decoder_, block_) == sent_);
    require(reference_.decode(block_) == sent_);
    require(decoder_.table().size_bytes() == encoder_.table().size_bytes());
    block_.clear();
    sent_ = {};
  }

 private:
  void begin() {
    std::uint8_t buffer[hpack::encoder::begin_bound];
    block_.assign(buffer, encoder_.begin_block(buffer));
  }
  void take(const std::string& name, const std::string& value, bool never,
            const std::vector<std::uint8_t>& room, const std::uint8_t* end) {
    require(end <= room.data() + room.size());
    block_.insert(block_.end(), room.data(), end);
    sent_.fields.push_back(owned_field{name, value, never});
  }

  hpack::encoder encoder_;
  hpack::decoder decoder_;
  hpack::testing::reference_decoder reference_;
  std::vector<std::uint8_t> block_;
  outcome sent_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  program p({data, size});
  connection c(static_cast<std::uint32_t>(p.byte() * 64));
  while (!p.done()) {
    const std::uint8_t operation = p.byte();
    switch (operation % 8) {
      case 0: c.next_block(); break;
      case 1: c.limit(static_cast<std::uint32_t>(p.byte() * (operation >> 3))); break;
      default: {
        const std::string name = p.name();
        c.field(name, p.text(), (operation >> 3) % 5);
      }
    }
  }
  c.finish();
  return 0;
}
