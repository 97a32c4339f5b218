#include "coracle/client/call_options.hpp"

namespace coracle {

void call_options::inherit(const call_options& defaults) {
  if (!timeout_) timeout_ = defaults.timeout_;
  if (!max_receive_bytes_) max_receive_bytes_ = defaults.max_receive_bytes_;
  if (!max_send_bytes_) max_send_bytes_ = defaults.max_send_bytes_;
  if (!wait_for_ready_) wait_for_ready_ = defaults.wait_for_ready_;
  if (!compression_) compression_ = defaults.compression_;
  if (!accepted_) accepted_ = defaults.accepted_;
  if (!credentials_) credentials_ = defaults.credentials_;
  if (!codec_ && content_subtype_.empty()) {
    codec_ = defaults.codec_;
    content_subtype_ = defaults.content_subtype_;
  }
  bad_metadata_ = bad_metadata_ || defaults.bad_metadata_;
  if (defaults.metadata_.empty()) return;
  const coracle::metadata own = metadata_;  // keeps all values that the defaults have under one key
  for (const auto field : defaults.metadata_)
    if (!own.find(field.name)) metadata_.add_received(field.name, field.value);
}

}  // namespace coracle
