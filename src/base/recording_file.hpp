// recording_file: the format of a recording, and its writer, which signal handlers may call.
#pragma once

#include "base/event_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::base {

// A recording is, in the byte order of the process that wrote it:
//
//   recording_header
//   names times: u16 length, text       the method with the number 1, 2, ...
//   rings times: ring_header, events    the events of a loop, the oldest first
//
// docs/guides/recorder.md promises that `coracle frames` reads the files of older versions.
struct recording_header {
  static constexpr std::uint64_t magic_of_version_1 =
      0x3130434552524f43;  // "CORREC01" in little-endian order
  std::uint64_t magic = magic_of_version_1;
  std::uint32_t event_bytes = sizeof(event_record);
  std::uint32_t names = 0;
  std::uint32_t rings = 0;
  std::uint32_t process = 0;
  std::int32_t signal = 0;  // that caused it; 0: none
  std::uint32_t unused = 0;
  std::int64_t wall_ns = 0;  // when it was written, since 1970
};
static_assert(sizeof(recording_header) == 40);

struct ring_header {
  std::uint32_t loop = 0;
  std::uint32_t runtime = 0;  // from 0; in no order
  std::uint64_t events = 0;
  std::int64_t wall_offset_ns = 0;  // from the time of the loop to ns since 1970
};
static_assert(sizeof(ring_header) == 24);

// A ring, or a copy of it, as it goes to the file.
struct recorded_ring {
  const void* owner = nullptr;
  std::size_t index = 0;
  std::int64_t wall_offset_ns = 0;
  event_ring::contents events;
};

// More loops than this are left out of a recording that a signal causes.
inline constexpr std::size_t recorded_rings_max = 1024;

// Where a recording goes. Returns false if that fails; nothing more is then written.
struct recording_sink {
  bool (*write)(void* to, const void* data, std::size_t n) noexcept;
  void* to;
};

// What a header says of the process.
struct recording_origin {
  std::uint32_t process = 0;
  std::int32_t signal = 0;
  std::int64_t wall_ns = 0;
};

// Returns false if the sink has failed. Allocates nothing and takes no lock.
bool write_recording(const recording_sink& sink, std::span<const recorded_ring> rings,
                     const recording_origin& origin) noexcept;

// Writes the rings of all loops of the process as they are, while their threads go on: the oldest events of a
// busy loop may be overwritten by newer ones meanwhile, and its last one may be incomplete. For signal
// handlers: one at a time.
bool write_all_rings(const recording_sink& sink, const recording_origin& origin) noexcept;

}  // namespace coracle::base
