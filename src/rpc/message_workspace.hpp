// message_workspace: what a loop's calls share while they compress, decompress or write a message in another form,
// put together the head of a reply that says so, and foresee how much memory a message takes.
#pragma once

#include "base/output_buffer.hpp"
#include "compress/coders.hpp"
#include "coracle/coro/executor.hpp"
#include "rpc/message_footprint.hpp"
#include "transport/header_block.hpp"

#include <cstddef>
#include <string>

namespace coracle::rpc {

// One a loop, made by the first message that needs it. A message is in here only while it passes through.
class message_workspace final : public coro::attachment {
 public:
  static message_workspace& here() { return coro::this_executor().attached<message_workspace>(); }

  compress::coders coders;
  std::string text;  // of a message before it is compressed
  base::output_buffer packed;
  base::output_buffer unpacked;
  transport::header_block head;
  message_footprint footprints;

  // Empties a buffer; memory of a message that was larger than usual is given back.
  static base::output_buffer& emptied(base::output_buffer& b) noexcept {
    b.clear();
    b.release(kept_bytes);
    return b;
  }
  std::string& empty_text() noexcept {
    text.clear();
    if (text.capacity() > kept_bytes) text.shrink_to_fit();
    return text;
  }
  transport::header_block& empty_head() noexcept {
    if (head.bytes().size() > kept_head_bytes) head = {};
    head.clear();
    return head;
  }

 private:
  static constexpr std::size_t kept_head_bytes = 4u << 10;
  static constexpr std::size_t kept_bytes = 256u << 10;  // per buffer and loop
};

}  // namespace coracle::rpc
