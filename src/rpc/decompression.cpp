#include "rpc/decompression.hpp"

#include "base/if_memory_allows.hpp"
#include "rpc/message_format.hpp"

#include <string>
#include <utility>

namespace coracle::rpc {

decompression::decompression(encoding e) : encoding_(e) {
  if (e == encoding::identity) {
    failure_ = status::internal("a message has the compressed flag, but the stream has no grpc-encoding");
    return;
  }
  message_workspace& here = message_workspace::here();
  coder_ = here.coders.take(e);
  if (!coder_->begin_decompress())
    failure_ = status::resource_exhausted("out of memory for decompressing a message");
  made_.swap(message_workspace::emptied(here.decompress_result));
}

decompression::decompression(decompression&& other) noexcept
    : encoding_(other.encoding_),
      coder_(std::move(other.coder_)),
      read_bytes_(other.read_bytes_),
      failure_(std::move(other.failure_)) {
  made_.swap(other.made_);
}

decompression::~decompression() {
  if (!coder_) return;
  message_workspace& here = message_workspace::here();
  base::if_memory_allows([&] { here.coders.give_back(encoding_, std::move(coder_)); });
  if (here.decompress_result.capacity() == 0) message_workspace::emptied(made_).swap(here.decompress_result);
}

bool decompression::step(bytes_view compressed, std::uint32_t max_bytes, std::size_t step_bytes) {
  if (!failure_.ok()) return true;
  bytes_view unread = compressed.subspan(read_bytes_);
  const compress::decompress_result outcome =
      coder_->decompress_step(unread, max_bytes - made_.size(), step_bytes, made_);
  read_bytes_ = compressed.size() - unread.size();
  switch (outcome) {
    case compress::decompress_result::more: return false;
    case compress::decompress_result::done: break;
    case compress::decompress_result::too_large: failure_ = too_large_decompressed(max_bytes); break;
    case compress::decompress_result::broken:
      failure_ = status::internal("a message is not valid " + std::string(name_of(encoding_)) +
                                  " data: it is corrupt or truncated");
      break;
    case compress::decompress_result::no_memory: failure_ = out_of_memory(); break;
  }
  return true;
}

}  // namespace coracle::rpc
