// gpr_malloc() and its like: malloc() that ends the program if there is no memory.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstddef>

/// Null for 0 bytes.
void* gpr_malloc(std::size_t bytes);
/// Its bytes are 0.
void* gpr_zalloc(std::size_t bytes);
void* gpr_realloc(void* p, std::size_t bytes);
void gpr_free(void* p);
/// `alignment` is a power of two; gpr_free_aligned() frees it.
void* gpr_malloc_aligned(std::size_t bytes, std::size_t alignment);
void gpr_free_aligned(void* p);
