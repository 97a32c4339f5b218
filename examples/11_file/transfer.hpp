// Files into streams of pieces and back, with two pieces: the disk has one while the stream has the other.
#pragma once

#include "file.coracle.hpp"

#include <coracle/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace transfer {

using coracle::task;

constexpr std::size_t piece_bytes = 256 << 10;

// How many bytes were left; 0 at the end of the file.
inline task<std::size_t> read_piece(coracle::net::file& from, files::Piece& piece) {
  piece.mutable_content()->resize(piece_bytes);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(piece.mutable_content()->data());
  const coracle::result<std::size_t> n = co_await from.read({bytes, piece_bytes});
  piece.mutable_content()->resize(n.value());
  co_return *n;
}

// In a handler a write or a read throws when the call has ended, which unwinds the handler. On the client it
// returns the status of the call.
inline task<> send_piece(coracle::writer<files::Piece>& to, const files::Piece& piece) {
  co_await to.write(piece);
}

template <class Call>
task<> send_piece(Call& to, const files::Piece& piece) {
  const coracle::status sent = co_await to.write(piece);
  sent.throw_if_error();
}

inline task<bool> receive_piece(coracle::reader<files::Piece>& from, files::Piece& piece) {
  co_return co_await from.read(piece);
}

template <class Call>
task<bool> receive_piece(Call& from, files::Piece& piece) {
  const coracle::result<bool> more = co_await from.read(piece);
  co_return more.value();
}

inline task<> write_piece(coracle::net::file& to, const files::Piece& piece) {
  const coracle::status written = co_await to.write(coracle::as_bytes(piece.content()));
  if (!written.ok()) throw coracle::status_error(written);
}

// --8<-- [start:send]
// `full` has the name, if there is one to be sent. While a piece is on its way, the next one is read.
template <class Stream>
task<std::uint64_t> send_file(coracle::net::file& from, Stream& to, files::Piece full = {}) {
  files::Piece free;
  std::uint64_t sent = 0;
  std::size_t n = co_await read_piece(from, full);
  do {
    sent += n;
    n = std::get<1>(co_await coracle::when_all(send_piece(to, full), read_piece(from, free)));
    std::swap(full, free);
  } while (n > 0);
  co_return sent;
}
// --8<-- [end:send]

// `full` came already. While a piece is written, the next one comes.
template <class Stream>
task<std::uint64_t> receive_file(Stream& from, coracle::net::file& to, files::Piece full) {
  files::Piece free;
  std::uint64_t received = 0;
  for (bool more = true; more; std::swap(full, free)) {
    received += full.content().size();
    more = std::get<1>(co_await coracle::when_all(write_piece(to, full), receive_piece(from, free)));
  }
  co_return received;
}

}  // namespace transfer
