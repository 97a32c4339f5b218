#include "rpc/unpacking.hpp"

#include "base/if_memory_allows.hpp"
#include "rpc/message_format.hpp"

#include <string>
#include <utility>

namespace coracle::rpc {

unpacking::unpacking(encoding e) : encoding_(e) {
  if (e == encoding::identity) {
    why_ = status::internal("a message has the compressed flag, but the stream has no grpc-encoding");
    return;
  }
  message_workspace& here = message_workspace::here();
  coder_ = here.coders.take(e);
  if (!coder_->begin_unpack()) why_ = status::resource_exhausted("out of memory for decompressing a message");
  made_.swap(message_workspace::emptied(here.unpacked));
}

unpacking::unpacking(unpacking&& other) noexcept
    : encoding_(other.encoding_),
      coder_(std::move(other.coder_)),
      read_bytes_(other.read_bytes_),
      why_(std::move(other.why_)) {
  made_.swap(other.made_);
}

unpacking::~unpacking() {
  if (!coder_) return;
  message_workspace& here = message_workspace::here();
  base::if_memory_allows([&] { here.coders.give_back(encoding_, std::move(coder_)); });
  if (here.unpacked.capacity() == 0) message_workspace::emptied(made_).swap(here.unpacked);
}

bool unpacking::step(bytes_view packed, std::uint32_t most_bytes, std::size_t step_bytes) {
  if (!why_.ok()) return true;
  bytes_view unread = packed.subspan(read_bytes_);
  const compress::unpacked how = coder_->unpack_step(unread, most_bytes - made_.size(), step_bytes, made_);
  read_bytes_ = packed.size() - unread.size();
  switch (how) {
    case compress::unpacked::more: return false;
    case compress::unpacked::done: break;
    case compress::unpacked::too_large: why_ = too_large_decompressed(most_bytes); break;
    case compress::unpacked::broken:
      why_ = status::internal("a message is not valid " + std::string(name_of(encoding_)) +
                              " data: it is corrupt or truncated");
      break;
    case compress::unpacked::no_memory: why_ = out_of_memory(); break;
  }
  return true;
}

}  // namespace coracle::rpc
