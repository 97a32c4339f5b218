// expect: coracle/execution.hpp requires senders
#ifdef MISUSE
#include "coracle/execution.hpp"
#endif

int main() {}
