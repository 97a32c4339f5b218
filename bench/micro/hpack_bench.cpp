// The cost of the header block of one small gRPC call: decoding, validating, storing and encoding its fields.
#include "coracle/http/header_list.hpp"
#include "hpack/decoder.hpp"
#include "hpack/encoder.hpp"
#include "hpack/huffman.hpp"
#include "http/header_validator.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace hpack = coracle::hpack;
namespace http = coracle::http;
using hpack::decoder;
using hpack::indexing;

constexpr std::array<hpack::field, 8> request = {{
    {":method", "POST"},
    {":scheme", "http"},
    {":path", "/movie.rpc.MovieService/AddMovie"},
    {":authority", "127.0.0.1:50051"},
    {"te", "trailers"},
    {"content-type", "application/grpc"},
    {"user-agent", "grpc-c++20-coracle/0.1.0"},
    {"grpc-accept-encoding", "identity, gzip"},
}};

using block = std::vector<std::uint8_t>;

// The first call returns what a connection sends first, later calls what it sends from then on.
block encode(hpack::encoder& encoder, indexing policy_of_path) {
  block out(1024);
  std::uint8_t* at = encoder.begin_block(out.data());
  for (const hpack::field& f : request)
    at = encoder.encode(at, f.name, f.value, f.name == ":path" ? policy_of_path : indexing::index);
  out.resize(static_cast<std::size_t>(at - out.data()));
  return out;
}

void drain(decoder& d, const block& b) {
  d.start(b);
  while (d.next() == decoder::step::field) benchmark::DoNotOptimize(d.current());
}

void decode_request(benchmark::State& state, indexing policy_of_path, bool cached) {
  hpack::encoder encoder;
  decoder d;
  drain(d, encode(encoder, policy_of_path));
  const block steady = encode(encoder, policy_of_path);
  d.start(steady);
  while (d.next() == decoder::step::field)
    if (cached) d.keep();
  for (auto _ : state) drain(d, steady);
}
void decode_indexed(benchmark::State& state) { decode_request(state, indexing::index, false); }
void decode_path_literal(benchmark::State& state) { decode_request(state, indexing::no_index, false); }
void decode_path_cached(benchmark::State& state) { decode_request(state, indexing::no_index, true); }

void decode_all_literal(benchmark::State& state) {
  const block b = hpack::stateless_encoder::encode_block(request);
  decoder d;
  for (auto _ : state) drain(d, b);
}

// As the engine does it: decode, validate with the verdict kept in the mark, store in a recycled list.
void receive_request(benchmark::State& state) {
  hpack::encoder encoder;
  decoder d;
  drain(d, encode(encoder, indexing::index));
  const block steady = encode(encoder, indexing::index);
  http::header_list list;
  for (auto _ : state) {
    list.clear();
    http::header_validator rules(http::header_kind::request);
    d.start(steady);
    while (d.next() == decoder::step::field) {
      const hpack::field& f = d.current();
      const auto known = static_cast<http::field_class>(d.mark());
      if (known != http::field_class::unknown) {
        rules.check_known(known, f.value);
      } else {
        http::field_class found;
        rules.check(f.name, f.value, &found);
        d.set_mark(static_cast<std::uint32_t>(found));
      }
      list.add(f.name, f.value);
    }
    benchmark::DoNotOptimize(rules.finish());
    benchmark::DoNotOptimize(list);
  }
}

void validate_request(benchmark::State& state) {
  for (auto _ : state) {
    http::header_validator rules(http::header_kind::request);
    for (const hpack::field& f : request) rules.check(f.name, f.value);
    benchmark::DoNotOptimize(rules.finish());
  }
}

void encode_by_search(benchmark::State& state) {
  hpack::encoder encoder;
  block out(1024);
  for (auto _ : state) {
    std::uint8_t* at = encoder.begin_block(out.data());
    for (const hpack::field& f : request) at = encoder.encode(at, f.name, f.value, indexing::index);
    benchmark::DoNotOptimize(at);
  }
}

void huffman_decode(benchmark::State& state) {
  const std::string text = "/movie.rpc.MovieService/AddMovie";
  block encoded(hpack::huffman::encoded_bytes(text));
  (void)hpack::huffman::encode(encoded.data(), text);
  std::vector<char> out(hpack::huffman::decoded_bound(encoded.size()));
  for (auto _ : state) benchmark::DoNotOptimize(hpack::huffman::decode(encoded, out.data()));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void huffman_encode(benchmark::State& state) {
  const std::string text = "/movie.rpc.MovieService/AddMovie";
  block encoded(hpack::huffman::encoded_bytes(text));
  for (auto _ : state) benchmark::DoNotOptimize(hpack::huffman::encode(encoded.data(), text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

BENCHMARK(decode_indexed);
BENCHMARK(decode_path_literal);
BENCHMARK(decode_path_cached);
BENCHMARK(decode_all_literal);
BENCHMARK(receive_request);
BENCHMARK(validate_request);
BENCHMARK(encode_by_search);
BENCHMARK(huffman_decode);
BENCHMARK(huffman_encode);

}  // namespace
