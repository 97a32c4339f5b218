#include "base/recording_file.hpp"

#include <cstring>

namespace coracle::base {

namespace {

std::uint32_t number_of_runtime(std::span<const recorded_ring> rings, const void* owner) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < rings.size() && rings[i].owner != owner; ++i) {
    bool is_new = true;
    for (std::size_t j = 0; j < i; ++j) is_new = is_new && rings[j].owner != rings[i].owner;
    number += is_new;
  }
  return number;
}

}  // namespace

bool write_recording(const recording_sink& sink, std::span<const recorded_ring> rings,
                     const recording_origin& origin) noexcept {
  recording_header header;
  header.names = static_cast<std::uint32_t>(method_names::count());
  header.rings = static_cast<std::uint32_t>(rings.size());
  header.process = origin.process;
  header.signal = origin.signal;
  header.wall_ns = origin.wall_ns;
  if (!sink.write(sink.to, &header, sizeof header)) return false;
  for (std::size_t id = 1; id <= header.names; ++id) {
    const char* const text = method_names::at(id).text;
    const auto length = static_cast<std::uint16_t>(std::strlen(text));
    if (!sink.write(sink.to, &length, sizeof length) || !sink.write(sink.to, text, length)) return false;
  }
  for (const recorded_ring& r : rings) {
    ring_header of;
    of.loop = static_cast<std::uint32_t>(r.index);
    of.runtime = number_of_runtime(rings, r.owner);
    of.events = r.events.older.size() + r.events.newer.size();
    of.wall_offset_ns = r.wall_offset_ns;
    if (!sink.write(sink.to, &of, sizeof of) ||
        !sink.write(sink.to, r.events.older.data(), r.events.older.size_bytes()) ||
        !sink.write(sink.to, r.events.newer.data(), r.events.newer.size_bytes()))
      return false;
  }
  return true;
}

bool write_all_rings(const recording_sink& sink, const recording_origin& origin) noexcept {
  static constinit recorded_ring rings[recorded_rings_max];
  std::size_t count = 0;
  for (const event_ring_entry* e = event_rings.first; e && count < recorded_rings_max; e = e->next())
    rings[count++] = {e->owner(), e->index(), e->wall_offset_ns(), e->ring().read()};
  return write_recording(sink, {rings, count}, origin);
}

}  // namespace coracle::base
