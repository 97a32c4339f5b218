// expect: kinds.coracle.hpp was generated for another version of Coracle: run protoc-gen-coracle again
#include "coracle/client/stub.hpp"
#include "coracle/server/service.hpp"

// As if the library had been renewed after the header.
#ifdef MISUSE
#define codegen_contract codegen_contract + 1
#endif
#include "kinds.coracle.hpp"
