// give_back_heap(): returns free memory of the heap to the system.
#pragma once

namespace coracle::base {

// The allocator keeps what was freed for later allocations; after a peer has made the process hold hundreds
// of megabytes, nothing else gives them back. Takes up to a tenth of a second for each gigabyte. Any
// thread.
void give_back_heap() noexcept;

}  // namespace coracle::base
