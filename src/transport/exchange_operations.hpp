// The operations of an exchange: the one place where they are declared.
#pragma once

#include "transport/exchange_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle::transport {

// For each operation OPERATION(result, name, (parameters), (arguments), qualifiers). From this list follow
//
//   exchange           the function for the layers above, which chooses between the next two
//   http2_stream       the operation on a stream of HTTP/2, without a virtual call
//   exchange_target    the operation on anything else, virtual
//   http1_session      of these, the one that is the end of the way
//   exchange_filter    those that pass each operation on, unless a derived class overrides it
//
// so that a new operation has a line here, and a definition in http2_stream.cpp, in http1_session.cpp and in
// the filters for which it means something else. http2/connection.hpp documents those of HTTP/2. All of them
// do nothing on a stream that has ended. Those that are not noexcept throw std::bad_alloc and then have no
// effect; the others close the connection if memory is exhausted.
//
// begin_headers       Begins a header block, or trailers if no data is queued. False: nothing can be sent.
// add_field           HTTP/1.1 has no use for the policy.
// end_headers         With end_stream after earlier headers, the block is the trailers.
// reserve_data        Returns space for n bytes that may be sent at once, else null: use queue_data().
// commit_data         Sends what was written into that space.
// queue_data          Sends the bytes when the peer permits. False: nothing can be sent.
// queued              How many bytes wait in queue_data().
// want_writable       Requests on_writable() when no more than low_bytes are queued.
// consume             Returns the credit of n received bytes.
// set_kept            Tells how many bytes of received data the layer above keeps, for memory accounting.
// wait_until_uncongested  Requests on_uncongested(); see exchange::congested().
// reset               Ends the stream in both directions.
// out_of_memory       For a layer that has no memory to write what it was given: nothing more is sent, the
//                     connection is closed at the end of the loop iteration, and then on_reset() is called.
//
// By hand are set_handler() and what ends with release(), because they mean something else to each class.
#define CORACLE_EXCHANGE_OPERATIONS(OPERATION)                                                         \
  OPERATION(bool, begin_headers, (), (), noexcept)                                                     \
  OPERATION(void, add_field, (std::string_view name, std::string_view value, hpack::indexing policy),  \
            (name, value, policy), noexcept)                                                           \
  OPERATION(void, end_headers, (bool end_stream), (end_stream), noexcept)                              \
  OPERATION(std::uint8_t*, reserve_data, (std::size_t n), (n), )                                       \
  OPERATION(void, commit_data, (std::size_t n, bool end_stream), (n, end_stream), noexcept)            \
  OPERATION(bool, queue_data, (std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream), \
            (std::move(bytes), n, end_stream), )                                                       \
  OPERATION(std::size_t, queued, (), (), const noexcept)                                               \
  OPERATION(void, want_writable, (std::size_t low_bytes), (low_bytes), noexcept)                       \
  OPERATION(void, consume, (std::size_t n), (n), noexcept)                                             \
  OPERATION(void, set_kept, (std::size_t bytes), (bytes), noexcept)                                    \
  OPERATION(void, wait_until_uncongested, (), (), noexcept)                                            \
  OPERATION(void, reset, (error_code code), (code), noexcept)                                          \
  OPERATION(void, out_of_memory, (), (), noexcept)

// Declares them in a class of which each function is defined elsewhere, or overrides a virtual one.
#define CORACLE_EXCHANGE_OPERATION(result, name, parameters, arguments, qualifiers) \
  result name parameters qualifiers;
#define CORACLE_EXCHANGE_OVERRIDE(result, name, parameters, arguments, qualifiers) \
  result name parameters qualifiers override;

}  // namespace coracle::transport
