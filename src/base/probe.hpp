// probe: USDT probes of the provider coracle, where the library was built with sys/sdt.h.
#pragma once

#if defined(CORACLE_WITH_PROBES)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
// CORACLE_PROBE(name, arguments...): integers and pointers, evaluated whether a tracer listens or not. The
// probe is one instruction that does nothing, and a note in the program (docs/guides/recorder.md).
#define CORACLE_PROBE(name, ...) STAP_PROBEV(coracle, name, __VA_ARGS__)
#else
#define CORACLE_PROBE(name, ...) static_cast<void>(0)
#endif
