// Separates measured and unmeasured code: switches callgrind's collection and the count of heap allocations
// on and off together.
#pragma once

#include <cstdint>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT static_cast<void>(0)
#endif

namespace bench {

class measured {
 public:
  // Counted by this program's operator new while on.
  static inline std::uint64_t allocations = 0;
  static inline std::uint64_t allocated_bytes = 0;
  static inline bool on = false;

  static void begin() noexcept {
    on = true;
    CALLGRIND_TOGGLE_COLLECT;
  }
  static void end() noexcept {
    CALLGRIND_TOGGLE_COLLECT;
    on = false;
  }
  // The work of the benchmark itself in between.
  class pause {
   public:
    pause() noexcept : was_on_(on) {
      if (was_on_) end();
    }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;
    ~pause() {
      if (was_on_) begin();
    }

   private:
    bool was_on_;
  };
};

}  // namespace bench
