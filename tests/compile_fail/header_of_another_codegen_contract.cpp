// expect: kinds.coracle.hpp was generated for another version of Coracle: run protoc-gen-coracle again
#include "coracle/rpc/service.hpp"
#include "coracle/rpc/stub.hpp"

// As if the library had been renewed after the header.
#ifdef MISUSE
#define codegen_contract codegen_contract + 1
#endif
#include "kinds.coracle.hpp"
