#include "coracle/net/pipe.hpp"

#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/open_descriptor.hpp"

namespace coracle::net {

pipe_ends::pipe_ends(std::unique_ptr<open_descriptor> from, std::unique_ptr<open_descriptor> into) noexcept
    : read_end(std::move(from)), write_end(std::move(into)) {}

result<pipe_ends> pipe() {
  loop& on = current_loop();
  runtime_internal::handle ends[2];
  const std::int64_t opened = on.io().open_pipe(ends);
  if (opened < 0) return stream_error(opened, "creating a pipe");
  constexpr auto owned = open_descriptor::ownership::owned;
  auto from = std::make_unique<open_descriptor>(on, ends[0], owned);
  auto into = std::make_unique<open_descriptor>(on, ends[1], owned);
  return pipe_ends(std::move(from), std::move(into));
}

}  // namespace coracle::net
