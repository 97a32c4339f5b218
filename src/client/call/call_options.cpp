#include "coracle/client/call_options.hpp"

#include <new>

namespace coracle {

const call_options& call_options::defaults() noexcept {
  // Never destroyed: calls may begin while the program exits.
  alignas(call_options) static unsigned char room[sizeof(call_options)];
  static const call_options& all = *new (room) call_options;
  return all;
}

void call_options::inherit(const call_options& defaults) {
  if (!timeout) timeout = defaults.timeout;
  if (!deadline_margin) deadline_margin = defaults.deadline_margin;
  if (!max_receive_bytes) max_receive_bytes = defaults.max_receive_bytes;
  if (!max_send_bytes) max_send_bytes = defaults.max_send_bytes;
  if (!criticality) criticality = defaults.criticality;
  if (!wait_for_ready) wait_for_ready = defaults.wait_for_ready;
  if (!compression) compression = defaults.compression;
  if (!accepted_encodings) accepted_encodings = defaults.accepted_encodings;
  if (!credentials) credentials = defaults.credentials;
  if (!codec && content_subtype.empty()) {
    codec = defaults.codec;
    content_subtype = defaults.content_subtype;
  }
  if (authority.empty()) authority = defaults.authority;
  if (telemetry_label.empty()) telemetry_label = defaults.telemetry_label;
  bad_metadata_ = bad_metadata_ || defaults.bad_metadata_;
  if (defaults.metadata.empty()) return;
  const coracle::metadata own = metadata;  // keeps all values that the defaults have under one key
  for (const auto field : defaults.metadata)
    if (!own.find(field.name)) metadata.add_received(field.name, field.value);
}

}  // namespace coracle
