// Compression algorithms and levels, and the arguments of channels that set them.
#pragma once

#include <grpc/slice.h>

#define GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM "grpc.default_compression_algorithm"
#define GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL "grpc.default_compression_level"
#define GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET "grpc.compression_enabled_algorithms_bitset"
#define GRPC_COMPRESSION_REQUEST_ALGORITHM_MD_KEY "grpc-internal-encoding-request"

enum grpc_compression_algorithm {
  GRPC_COMPRESS_NONE = 0,
  GRPC_COMPRESS_DEFLATE,
  GRPC_COMPRESS_GZIP,
  GRPC_COMPRESS_ALGORITHMS_COUNT,
};

enum grpc_compression_level {
  GRPC_COMPRESS_LEVEL_NONE = 0,
  GRPC_COMPRESS_LEVEL_LOW,
  GRPC_COMPRESS_LEVEL_MED,
  GRPC_COMPRESS_LEVEL_HIGH,
  GRPC_COMPRESS_LEVEL_COUNT,
};

/// Sets `name` to the one that grpc-encoding has, "identity" for no compression. Returns 0 for another number.
int grpc_compression_algorithm_name(grpc_compression_algorithm algorithm, const char** name);
/// Returns 0 for an unknown name.
int grpc_compression_algorithm_parse(grpc_slice name, grpc_compression_algorithm* algorithm);
