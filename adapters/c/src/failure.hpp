// failure: errors of the C interface, and the boundary that lets no exception pass.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"

#include <coracle.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::c_abi {

// Thrown inside the library by what cannot go on; guarded() makes it the result of the function.
class failure : public std::exception {
 public:
  failure(coracle_error code, std::string text) noexcept : code_(code), text_(std::move(text)) {}
  [[nodiscard]] coracle_error code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  coracle_error code_;
  std::string text_;
};

[[noreturn]] inline void invalid(std::string text) {
  throw failure(CORACLE_INVALID_ARGUMENT, std::move(text));
}

// Keeps the text for coracle_last_error() and returns the code.
int fail(coracle_error code, std::string_view text) noexcept;

// Whether this process was forked from one that used the library; mark_used() is called before threads start.
[[nodiscard]] bool forked() noexcept;
void mark_used();

// Calls the body of a function of the interface, which returns nothing and throws what goes wrong.
template <class Body>
int guarded(Body body) noexcept {
  if (forked())
    return fail(CORACLE_FORKED,
                "the process was forked after its parent had used the library; start a new program instead");
  try {
    body();
    return CORACLE_OK;
  } catch (const failure& f) {
    return fail(f.code(), f.what());
  } catch (const std::bad_alloc&) {
    return fail(CORACLE_OUT_OF_MEMORY, "out of memory");
  } catch (const usage_error& e) {
    return fail(CORACLE_WRONG_STATE, e.what());
  } catch (const std::exception& e) {
    return fail(CORACLE_FAILED, e.what());
  } catch (...) {
    return fail(CORACLE_FAILED, "an unknown exception");
  }
}

// For functions that wait.
inline void require_plain_thread() {
  if (loop::current())
    throw failure(CORACLE_WOULD_DEADLOCK,
                  "a function that waits was called on a thread of a runtime, in a callback for example; "
                  "start the operation with a callback or a queue instead");
}

// Reads a struct of the caller, who may have been compiled with an older or a newer header: `required` bytes
// at least, and zero for what is missing.
template <class T>
T read_struct(const T* from, std::size_t required, const char* name) {
  T read{};
  if (!from) return read;
  if (from->size < required)
    invalid(std::string(name) + "::size is " + std::to_string(from->size) + ": set it to sizeof(" + name +
            ")");
  const std::size_t known = from->size < sizeof(T) ? from->size : sizeof(T);
  __builtin_memcpy(&read, from, known);
  return read;
}

inline std::string_view text_of(const void* bytes, std::size_t size, const char* name) {
  if (!bytes && size) invalid(std::string(name) + " is a null pointer, but its size is not 0");
  return {static_cast<const char*>(bytes), size};
}
inline const char* require_text(const char* text, const char* name) {
  if (!text) invalid(std::string(name) + " is a null pointer");
  return text;
}
template <class T>
T* require_out(T* out, const char* name) {
  if (!out) invalid(std::string(name) + " is a null pointer");
  return out;
}

}  // namespace coracle::c_abi
